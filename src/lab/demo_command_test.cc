#include <iostream>

#include "app/command_line.h"
#include "app/exit_codes.h"
#include "base/log.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lab/lab_commands.h"

namespace gpuscaler {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::internal::CaptureStderr;
using ::testing::internal::CaptureStdout;
using ::testing::internal::GetCapturedStderr;
using ::testing::internal::GetCapturedStdout;

// The demo turns off the log of the whole process.
class DemoCommandTest : public testing::Test {
 protected:
  ~DemoCommandTest() override { StartLogging(LogLevel::kInfo, LogFormat::kText); }

  // Stores the output in `shown_`.
  int Run(const std::vector<std::string>& flags) {
    const Program program = {.name = "lab", .commands = {DemoCommand()}};
    const auto line = ParseCommandLine(program, flags);
    EXPECT_TRUE(line.ok()) << line.status();
    if (!line.ok()) return -1;
    CaptureStdout();
    const int code = line->command->run(line->arguments);
    shown_ = GetCapturedStdout();
    return code;
  }

  // Retries at a lower speed if the demo reports that the machine is too slow, since it may be
  // busy.
  int RunAtHighestSpeed(const std::vector<std::string>& flags) {
    int code = -1;
    for (const char* speed : {"--speed=150", "--speed=50", "--speed=15"}) {
      std::vector<std::string> all = flags;
      all.emplace_back(speed);
      CaptureStderr();
      code = Run(all);
      const std::string error = GetCapturedStderr();
      std::cerr << error;
      if (error.find("is too fast for this machine") == std::string::npos) break;
    }
    return code;
  }

  std::string shown_;
};

// Server, gRPC, engines, load and gateway are real; GPUs, KEDA and time are not.
TEST_F(DemoCommandTest, GoesFromZeroToSeveralReplicasAndBack) {
  EXPECT_EQ(RunAtHighestSpeed({"--max-replicas=3"}), kExitOk) << shown_;
  EXPECT_THAT(shown_, HasSubstr("Replicas went 0 -> 3 -> 0."));
  EXPECT_THAT(shown_, ContainsRegex("this scaler +[0-9]+ +5975 +0 ")) << "all are served";
  EXPECT_THAT(shown_, HasSubstr("the Go scaler's formula"));
  EXPECT_THAT(shown_, HasSubstr("keda-gpu-scaler query 127.0.0.1:"));
}

// Only GPUs are read here.
TEST_F(DemoCommandTest, AlsoScalesOnUtilization) {
  const int code = RunAtHighestSpeed({"--profile=triton-inference", "--max-replicas=3"});
  EXPECT_EQ(code, kExitOk) << shown_;
  EXPECT_THAT(shown_, Not(HasSubstr("engineEndpoint")));
}

TEST_F(DemoCommandTest, RefusesInvalidFlags) {
  const auto error = [](const char* flag) {
    return std::string(
        ParseCommandLine({.name = "lab", .commands = {DemoCommand()}}, {flag}).status().message());
  };
  EXPECT_THAT(error("--speed=1001"), HasSubstr("from 1 to 1000"));
  EXPECT_THAT(error("--speed=0"), HasSubstr("from 1 to 1000"));
  EXPECT_THAT(error("--max-replicas=2"), HasSubstr("from 3 to 64"));
  EXPECT_THAT(error("--port=65536"), HasSubstr("from 0 to 65535"));
  EXPECT_THAT(error("--profile=vlm"), HasSubstr("vllm-inference"));
}

}  // namespace
}  // namespace gpuscaler
