#include "app/demo.h"

#include "app/exit_codes.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using ::testing::HasSubstr;
using ::testing::internal::CaptureStdout;
using ::testing::internal::GetCapturedStdout;

// Server, gRPC, file source, models: all real but the GPUs, KEDA and time.
TEST(Demo, GoesFromZeroToSeveralReplicasAndBack) {
  CaptureStdout();
  const int code = RunDemo({.speed = 600, .max_replicas = 5});
  const std::string shown = GetCapturedStdout();
  EXPECT_EQ(code, kExitOk) << shown;
  EXPECT_THAT(shown, HasSubstr("Replicas went 0 -> 5 -> 0."));
  EXPECT_THAT(shown, HasSubstr("the reference's formula"));
}

TEST(Demo, RefusesWhatCannotWork) {
  EXPECT_EQ(RunDemo({.profile = "vlm"}), kExitUsage);
  EXPECT_EQ(RunDemo({.speed = 1001}), kExitUsage);
  EXPECT_EQ(RunDemo({.max_replicas = 2}), kExitUsage);
  EXPECT_EQ(RunDemo({.port = 65536}), kExitUsage);
}

}  // namespace
}  // namespace gpuscaler
