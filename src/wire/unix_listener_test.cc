#include "wire/unix_listener.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "base/test_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

bool Connects(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  const bool connects =
      connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  close(socket);
  return connects;
}

TEST(UnixListener, CreatesItsFileForOwnerAndGroupAndRemovesIt) {
  const TestFolder folder;
  const std::string path = folder.PathOf("s");
  const mode_t before = umask(077);
  auto listener = UnixListener::Open(path);
  umask(before);
  ASSERT_TRUE(listener.ok()) << listener.status();
  struct stat file = {};
  ASSERT_EQ(stat(path.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777u, 0660u);
  EXPECT_TRUE(Connects(path));
  *listener = nullptr;
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(UnixListener, ReplacesAStaleSocketAlone) {
  const TestFolder folder;
  const std::string path = folder.PathOf("s");
  const std::string kept = folder.PathOf("kept");
  {
    const auto listener = UnixListener::Open(path);
    ASSERT_TRUE(listener.ok()) << listener.status();
    EXPECT_EQ(UnixListener::Open(path).status().code(), absl::StatusCode::kUnavailable)
        << "another listens";
    EXPECT_TRUE(Connects(path));
    std::filesystem::create_hard_link(path, kept);
  }
  std::filesystem::rename(kept, path);  // as if its process had been killed
  const auto listener = UnixListener::Open(path);
  ASSERT_TRUE(listener.ok()) << listener.status();
  EXPECT_TRUE(Connects(path));

  const std::string text = folder.Write("text", "a");
  EXPECT_EQ(UnixListener::Open(text).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(std::filesystem::exists(text));
}

TEST(UnixListener, KeepsTheSocketOfAnotherListener) {
  const TestFolder folder;
  const std::string path = folder.PathOf("s");
  auto first = UnixListener::Open(path);
  ASSERT_TRUE(first.ok()) << first.status();
  std::filesystem::remove(path);
  const auto second = UnixListener::Open(path);
  ASSERT_TRUE(second.ok()) << second.status();
  *first = nullptr;
  EXPECT_TRUE(Connects(path));
}

TEST(UnixListener, RefusesLongPaths) {
  EXPECT_EQ(UnixListener::Open(std::string(108, 'x')).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(UnixListener::Open("").status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace gpuscaler
