#include "app/client_flags.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

TEST(ScalerAddress, HasTheDefaultPortIfNoneIsGiven) {
  struct Case {
    std::string text;
    std::string want;
  };
  const std::vector<Case> cases = {
      {"localhost:6000", "localhost:6000"},
      {"localhost", "localhost:6000"},
      {"10.0.0.7:65535", "10.0.0.7:65535"},
      {"::1", "[::1]:6000"},
      {"[::1]", "[::1]:6000"},
      {"[::1]:7000", "[::1]:7000"},
      {"dns:///scaler.keda:6000", "scaler.keda:6000"},
      {"dns:///scaler.keda", "scaler.keda:6000"},
      {"unix:/run/scaler.sock", "unix:/run/scaler.sock"},
  };
  for (const Case& test : cases) {
    const auto address = ScalerAddress(test.text);
    ASSERT_TRUE(address.ok()) << address.status();
    EXPECT_EQ(*address, test.want);
  }
}

TEST(ScalerAddress, RefusesInvalidPortsAndHosts) {
  for (const std::string text :
       {"localhost:99999", "localhost:0", "localhost:", "localhost:+1", ":6000", "", "[::1]:x",
        "http://localhost:6000", "dns://10.0.0.10/scaler.keda:6000", "unix-abstract:scaler"}) {
    const auto address = ScalerAddress(text);
    EXPECT_EQ(address.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(address.status().message()),
                testing::HasSubstr("a port from 1 to 65535"));
  }
}

}  // namespace
}  // namespace gpuscaler
