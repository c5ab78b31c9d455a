#include "lab/demo.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "base/bound_port.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using ::testing::HasSubstr;

bool IsNeverStopped(absl::Duration /*wait*/) { return false; }

TEST(Demo, RefusesAnUnknownProfile) {
  Demo demo({.profile = "vlm"}, IsNeverStopped);
  EXPECT_EQ(demo.Run().status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Demo, ReportsWhyTheServerCannotStart) {
  auto taken = BoundPort::Open("127.0.0.1", 0);
  ASSERT_TRUE(taken.ok()) << taken.status();
  const int port = taken->port();
  const auto listening = (*std::move(taken)).Listen();
  ASSERT_TRUE(listening.ok()) << listening.status();
  Demo demo({.speed = 600, .port = port}, IsNeverStopped);
  const absl::Status status = demo.Run().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr(absl::StrCat(port)));
  close(*listening);
}

TEST(Demo, ReadsThePricesOfItsGpus) {
  const std::string missing = testing::TempDir() + "/no-prices.csv";
  Demo demo({.speed = 600, .prices = missing}, IsNeverStopped);
  EXPECT_THAT(std::string(demo.Run().status().message()), HasSubstr(missing));
}

}  // namespace
}  // namespace gpuscaler
