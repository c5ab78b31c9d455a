#include "store/leases.h"

#include "base/fake_clock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

TEST(Leases, CostlyReadingIsWantedUntilItsLeaseEnds) {
  FakeClock clock;
  Leases leases;
  EXPECT_FALSE(leases.Wanted(clock.Now()).pcie);
  leases.Renew({.pcie = true}, clock.Now() + absl::Seconds(90));
  EXPECT_TRUE(leases.Wanted(clock.Now()).pcie);
  clock.Advance(absl::Seconds(90));
  EXPECT_FALSE(leases.Wanted(clock.Now()).pcie);
}

TEST(Leases, ShorterRenewalKeepsTheLongerLease) {
  FakeClock clock;
  Leases leases;
  leases.Renew({.pcie = true}, clock.Now() + absl::Hours(1));
  leases.Renew({.pcie = true}, clock.Now() + absl::Seconds(1));
  clock.Advance(absl::Minutes(30));
  EXPECT_TRUE(leases.Wanted(clock.Now()).pcie);
}

}  // namespace
}  // namespace gpuscaler
