#include "store/look_back_leases.h"

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

constexpr absl::Time kStart = absl::UnixEpoch();

TEST(LookBackLeases, LongestCountsUntilItsLeaseExpires) {
  LookBackLeases look_backs;
  EXPECT_EQ(look_backs.Longest(kStart), absl::ZeroDuration());
  look_backs.Renew(absl::Minutes(15), kStart + absl::Seconds(90));
  look_backs.Renew(absl::Minutes(5), kStart + absl::Minutes(3));
  EXPECT_EQ(look_backs.Longest(kStart), absl::Minutes(15));
  EXPECT_EQ(look_backs.Longest(kStart + absl::Seconds(90)), absl::Minutes(5));
  EXPECT_EQ(look_backs.Longest(kStart + absl::Minutes(3)), absl::ZeroDuration());
}

TEST(LookBackLeases, RoundsUpToMinutesAndNeverShortensALease) {
  LookBackLeases look_backs;
  look_backs.Renew(absl::Seconds(61), kStart + absl::Minutes(2));
  look_backs.Renew(absl::Seconds(119), kStart + absl::Minutes(1));
  EXPECT_EQ(look_backs.Longest(kStart + absl::Seconds(119)), absl::Minutes(2));
}

TEST(LookBackLeases, RemovesExpiredOnes) {
  LookBackLeases look_backs;
  look_backs.Renew(absl::Minutes(5), kStart + absl::Minutes(1));
  look_backs.Sweep(kStart);
  EXPECT_FALSE(look_backs.empty());
  look_backs.Sweep(kStart + absl::Minutes(1));
  EXPECT_TRUE(look_backs.empty());
}

}  // namespace
}  // namespace gpuscaler
