#include "base/file_text.h"

#include <memory>

#include "base/test_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class FileTextTest : public testing::Test {
 protected:
  void Write(const std::string& text) { folder_.Write("text", text); }

  static void ExpectUnreadable(const absl::StatusOr<std::string>& text, const std::string& path,
                               const std::string& why) {
    EXPECT_EQ(text.status().code(), absl::StatusCode::kInvalidArgument) << text.status();
    EXPECT_THAT(std::string(text.status().message()),
                AllOf(StartsWith(path + ": cannot be read: "), HasSubstr(why)));
  }

  const TestFolder folder_;
  const std::string path_ = folder_.PathOf("text");
};

TEST_F(FileTextTest, TextIsTheFileByteForByte) {
  const std::string text = std::string(100'000, 'x') + std::string("\r\n\0\xFF", 4);
  Write(text);
  EXPECT_EQ(ReadFileText(path_).value_or("unreadable"), text);
}

TEST_F(FileTextTest, EmptyFileIsEmptyText) {
  Write("");
  EXPECT_EQ(ReadFileText(path_).value_or("unreadable"), "");
}

TEST_F(FileTextTest, MissingFileIsNamedWithTheReason) {
  ExpectUnreadable(ReadFileText(path_), path_, "No such file or directory");
}

TEST_F(FileTextTest, DirectoryIsAnErrorAndNotAnEmptyFile) {
  ExpectUnreadable(ReadFileText("/etc"), "/etc", "Is a directory");
}

TEST_F(FileTextTest, FileBeyondTheLimitIsRefusedWhole) {
  Write("12345");
  EXPECT_EQ(ReadFileText(path_, 5).value_or("unreadable"), "12345");
  ExpectUnreadable(ReadFileText(path_, 4), path_, "larger than 4 bytes");
}

TEST_F(FileTextTest, ErrorOfAnOpenFileHasTheGivenName) {
  Write("12345");
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path_.c_str(), "rb"),
                                                             &std::fclose);
  ASSERT_NE(file, nullptr);
  ExpectUnreadable(ReadFileText(file.get(), "standard input", 4), "standard input", "larger");
}

}  // namespace
}  // namespace gpuscaler
