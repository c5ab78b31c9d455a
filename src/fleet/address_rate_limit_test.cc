#include "fleet/address_rate_limit.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

constexpr absl::Time kNow = absl::FromUnixSeconds(1'767'225'600);

TEST(AddressRateLimit, AnAddressHasItsTokensAtOnceThenItsRate) {
  AddressRateLimit limit(3, 2);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(limit.Take("10.0.0.1", kNow)) << i;
  EXPECT_FALSE(limit.Take("10.0.0.1", kNow));
  EXPECT_TRUE(limit.Take("10.0.0.2", kNow));
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(limit.Take("10.0.0.1", kNow + absl::Seconds(1))) << i;
  EXPECT_FALSE(limit.Take("10.0.0.1", kNow + absl::Seconds(1)));
}

TEST(AddressRateLimit, ForgetsAddressesWithAllTokens) {
  AddressRateLimit limit(3, 2);
  for (int i = 0; i < 100; ++i) limit.Take(absl::StrCat("10.0.0.", i), kNow);
  EXPECT_EQ(limit.size(), 100u);
  limit.Take("10.0.1.1", kNow + absl::Seconds(1));
  EXPECT_EQ(limit.size(), 1u);
}

TEST(AddressRateLimit, ManyAddressesTakeBoundedMemoryAndLockNoneOut) {
  AddressRateLimit limit(1, 1);
  for (int i = 0; i < 5000; ++i) EXPECT_TRUE(limit.Take(absl::StrCat("fd00::", i), kNow)) << i;
  EXPECT_EQ(limit.size(), AddressRateLimit::kMostAddresses);
}

}  // namespace
}  // namespace gpuscaler
