#include "base/lease_set.h"

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

constexpr absl::Time kStart = absl::UnixEpoch();

TEST(LeaseSet, NeverShortensALease) {
  LeaseSet<int> leases;
  EXPECT_TRUE(leases.Renew(1, kStart + absl::Minutes(2)));
  EXPECT_FALSE(leases.Renew(1, kStart + absl::Minutes(1)));
  EXPECT_FALSE(leases.Sweep(kStart + absl::Seconds(119)));
}

TEST(LeaseSet, RemovesExpiredOnes) {
  LeaseSet<int> leases;
  leases.Renew(1, kStart + absl::Minutes(1));
  EXPECT_FALSE(leases.Sweep(kStart));
  EXPECT_FALSE(leases.empty());
  EXPECT_TRUE(leases.contains(1));
  EXPECT_TRUE(leases.Sweep(kStart + absl::Minutes(1)));
  EXPECT_TRUE(leases.empty());
}

}  // namespace
}  // namespace gpuscaler
