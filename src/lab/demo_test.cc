#include "lab/demo.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

bool IsNeverStopped(absl::Duration /*wait*/) { return false; }

TEST(Demo, RefusesAnUnknownProfileBeforeTheServerStarts) {
  int begun = 0;
  const auto start = [&](const DemoServerOptions&, const Clock&) {
    ++begun;
    return absl::StatusOr<std::unique_ptr<DemoServer>>(absl::UnavailableError("no port"));
  };
  Demo demo({.profile = "vlm"}, start, IsNeverStopped);
  EXPECT_EQ(demo.Run().status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(begun, 0);
}

TEST(Demo, ReportsWhyTheServerCannotStart) {
  DemoServerOptions asked;
  const auto start = [&](const DemoServerOptions& options, const Clock&) {
    asked = options;
    return absl::StatusOr<std::unique_ptr<DemoServer>>(absl::UnavailableError("no port"));
  };
  Demo demo({.speed = 600, .port = 7}, start, IsNeverStopped);
  EXPECT_EQ(demo.Run().status(), absl::UnavailableError("no port"));
  EXPECT_EQ(asked.port, 7);
  EXPECT_EQ(asked.clock_speed, 600);
}

}  // namespace
}  // namespace gpuscaler
