#include "base/resolve.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::AnyOf;
using testing::Contains;
using testing::ElementsAre;

TEST(AddressesOf, LocalhostIsThisMachine) {
  const auto addresses = AddressesOf("localhost");
  ASSERT_TRUE(addresses.ok()) << addresses.status();
  EXPECT_THAT(*addresses, Contains(AnyOf("127.0.0.1", "::1")));
}

TEST(AddressesOf, NumericAddressesNeedNoServer) {
  EXPECT_THAT(AddressesOf("10.0.0.7").value(), ElementsAre("10.0.0.7"));
  EXPECT_THAT(AddressesOf("fd00::7").value(), ElementsAre("fd00::7"));
  for (const char* address : {"10.0.0.7", "fd00::7"}) {
    EXPECT_EQ(ResolveName(address)->canonical_name, address);
  }
}

}  // namespace
}  // namespace gpuscaler
