#include "base/test_folder.h"

#include <sys/wait.h>

#include <filesystem>
#include <optional>

#include "base/file_text.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

TEST(TestFolder, DestructorRemovesItWithItsFiles) {
  std::optional<TestFolder> folder(std::in_place);
  const std::string path = folder->path();
  folder->Write("proc/42/stat", "42");
  folder->AddFolder("logs/pods");
  EXPECT_TRUE(std::filesystem::is_directory(path));
  folder.reset();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(TestFolder, WriteReplacesTheContent) {
  const TestFolder folder;
  const std::string path = folder.Write("profiles.yaml", "profiles: {ours: {}}\n");
  EXPECT_EQ(path, folder.PathOf("profiles.yaml"));
  folder.Write("profiles.yaml", "profiles: {}\n");
  EXPECT_EQ(ReadFileText(path).value_or("unreadable"), "profiles: {}\n");
}

TEST(TestFolder, EachHasItsOwnPath) {
  const TestFolder one, other;
  EXPECT_NE(one.path(), other.path());
}

TEST(TestFolder, ChildProcessDoesNotRemoveIt) {
  const TestFolder folder;
  const pid_t child = fork();
  if (child == 0) {
    folder.~TestFolder();
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(std::filesystem::exists(folder.path()));
}

}  // namespace
}  // namespace gpuscaler
