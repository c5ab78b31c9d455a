#include "app/demo.h"

#include "app/command_line.h"
#include "app/commands.h"
#include "base/log.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::internal::CaptureStdout;
using ::testing::internal::GetCapturedStdout;

// The demo silences the log of the whole process.
class DemoTest : public testing::Test {
 protected:
  ~DemoTest() override { StartLogging(LogLevel::kInfo, LogFormat::kText); }
};

// Server, gRPC, engines, load, gateway: all real but the GPUs, KEDA and time.
TEST_F(DemoTest, GoesFromZeroToSeveralReplicasAndBack) {
  CaptureStdout();
  const int code = RunDemo({.speed = 600, .max_replicas = 5});
  const std::string shown = GetCapturedStdout();
  EXPECT_EQ(code, kExitOk) << shown;
  EXPECT_THAT(shown, HasSubstr("Replicas went 0 -> 5 -> 0."));
  EXPECT_THAT(shown, ContainsRegex("this scaler +[0-9]+ +1650 +0 ")) << "all are served";
  EXPECT_THAT(shown, HasSubstr("the reference's formula"));
}

// Where nothing but GPUs is read.
TEST_F(DemoTest, ScalesOnUtilisationToo) {
  CaptureStdout();
  const int code = RunDemo({.speed = 1000, .profile = "triton-inference", .max_replicas = 3});
  const std::string shown = GetCapturedStdout();
  EXPECT_EQ(code, kExitOk) << shown;
  EXPECT_THAT(shown, Not(HasSubstr("engineEndpoint")));
}

TEST_F(DemoTest, RefusesWhatCannotWork) {
  EXPECT_EQ(RunDemo({.profile = "vlm"}), kExitUsage);
  const auto error = [](const char* flag) {
    return std::string(ParseCommandLine({DemoCommand()}, {flag}).status().message());
  };
  EXPECT_THAT(error("--speed=1001"), HasSubstr("from 1 to 1000"));
  EXPECT_THAT(error("--speed=0"), HasSubstr("from 1 to 1000"));
  EXPECT_THAT(error("--max-replicas=2"), HasSubstr("from 3 to 64"));
  EXPECT_THAT(error("--port=65536"), HasSubstr("from 0 to 65535"));
}

}  // namespace
}  // namespace gpuscaler
