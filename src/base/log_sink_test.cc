#include "base/log_sink.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "spdlog/logger.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

// A sink on a pipe with room for two pages, which is read only by Read().
class LogSinkTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(pipe2(ends_.data(), O_CLOEXEC), 0);
    ASSERT_GT(fcntl(ends_[1], F_SETPIPE_SZ, 8192), 0);
    fcntl(ends_[0], F_SETFL, O_NONBLOCK);
    logger_ = std::make_unique<spdlog::logger>(
        "test", std::make_shared<LogSink>(
                    ends_[1], [](int64_t dropped) { return absl::StrCat("dropped ", dropped); }));
  }
  void TearDown() override {
    close(ends_[0]);
    close(ends_[1]);
  }

  void Log(const std::string& line) { logger_->info("{}", line); }
  std::vector<std::string> Read() {
    std::string text;
    std::array<char, 8192> part{};
    for (ssize_t size = 0; (size = read(ends_[0], part.data(), part.size())) > 0;) {
      text.append(part.data(), static_cast<size_t>(size));
    }
    return absl::StrSplit(text, '\n', absl::SkipEmpty());
  }

  std::array<int, 2> ends_{};
  std::unique_ptr<spdlog::logger> logger_;
};

TEST_F(LogSinkTest, WritesWholeLines) {
  Log("one {}");
  Log("two");
  EXPECT_THAT(Read(), ElementsAre("one {}", "two"));
}

TEST_F(LogSinkTest, StalledReaderDoesNotBlockAndLaterGetsTheNumberOfDroppedLines) {
  const std::string line(1000, 'x');
  for (int i = 0; i < 100; ++i) Log(line);
  const size_t taken = Read().size();
  EXPECT_GE(taken, 1u);
  EXPECT_LT(taken, 100u);
  Log("after");
  EXPECT_THAT(Read(), ElementsAre(absl::StrCat("dropped ", 100 - taken), "after"));
  Log("and on");
  EXPECT_THAT(Read(), ElementsAre("and on"));
}

TEST_F(LogSinkTest, LineAfterATruncatedOneIsWhole) {
  Log(std::string(12'000, 'x'));
  EXPECT_THAT(Read(), ElementsAre(SizeIs(8192)));
  Log("after");
  EXPECT_THAT(Read(), ElementsAre("dropped 1", "after"));
}

TEST_F(LogSinkTest, ClosedReaderIsNoError) {
  signal(SIGPIPE, SIG_IGN);
  close(ends_[0]);
  Log("to no sink");
  ends_[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

}  // namespace
}  // namespace gpuscaler
