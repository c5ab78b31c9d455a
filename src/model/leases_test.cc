#include "model/leases.h"

#include "absl/strings/str_cat.h"
#include "base/fake_clock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

TEST(Leases, CostlyReadingIsRequestedUntilItsLeaseEnds) {
  FakeClock clock;
  Leases leases;
  EXPECT_FALSE(leases.Subscription(clock.Now()).pcie);
  leases.Renew({.pcie = true}, clock.Now() + absl::Seconds(90));
  EXPECT_TRUE(leases.Subscription(clock.Now()).pcie);
  clock.Advance(absl::Seconds(90));
  EXPECT_FALSE(leases.Subscription(clock.Now()).pcie);
}

TEST(Leases, EachCostlyReadingHasALeaseOfItsOwn) {
  FakeClock clock;
  Leases leases;
  leases.Renew({.activity = true}, clock.Now() + absl::Seconds(90));
  leases.Renew({.pcie = true}, clock.Now() + absl::Seconds(60));
  EXPECT_EQ(leases.Subscription(clock.Now()), (CostlyReadings{.pcie = true, .activity = true}));
  clock.Advance(absl::Seconds(60));
  EXPECT_EQ(leases.Subscription(clock.Now()), CostlyReadings{.activity = true});
  clock.Advance(absl::Seconds(30));
  EXPECT_EQ(leases.Subscription(clock.Now()), CostlyReadings());
}

TEST(Leases, ShorterRenewalKeepsTheLongerLease) {
  FakeClock clock;
  Leases leases;
  leases.Renew({.pcie = true}, clock.Now() + absl::Hours(1));
  leases.Renew({.pcie = true}, clock.Now() + absl::Seconds(1));
  clock.Advance(absl::Minutes(30));
  EXPECT_TRUE(leases.Subscription(clock.Now()).pcie);
}

TEST(Leases, HistoryIsKeptForTheLongestLookBack) {
  Leases leases;
  const absl::Time now = absl::UnixEpoch();
  EXPECT_EQ(leases.LookBack({"a"}, now), kShortestLookBack) << "without a lease";
  leases.RenewLookBack({"a", "opened"}, absl::Minutes(10), now, now + absl::Seconds(90));
  leases.RenewLookBack({"a"}, absl::Seconds(299), now, now + absl::Seconds(180));
  EXPECT_EQ(leases.LookBack({"a", "b"}, now), absl::Minutes(10));
  EXPECT_EQ(leases.LookBack({"opened"}, now), absl::Minutes(10));
  EXPECT_EQ(leases.LookBack({"b"}, now), kShortestLookBack);
  EXPECT_EQ(leases.LongestLookBack(now), absl::Minutes(10)) << "a node with unknown pods";
  const absl::Time later = now + absl::Seconds(90);
  EXPECT_EQ(leases.LookBack({"a"}, later), absl::Minutes(5));
  leases.RenewLookBack({}, absl::Minutes(15), later, later + absl::Seconds(90));
  EXPECT_EQ(leases.LookBack({"b"}, later), absl::Minutes(15)) << "scope: fleet";
  EXPECT_EQ(leases.LookBack({"a"}, later + absl::Seconds(90)), kShortestLookBack);
}

TEST(Leases, LookBackIsRoundedUpToMinutesAndItsLeaseNeverShortened) {
  Leases leases;
  const absl::Time now = absl::UnixEpoch();
  leases.RenewLookBack({"a"}, absl::Seconds(181), now, now + absl::Minutes(2));
  leases.RenewLookBack({"a"}, absl::Seconds(239), now, now + absl::Minutes(1));
  EXPECT_EQ(leases.LookBack({"a"}, now + absl::Seconds(119)), absl::Minutes(4));
}

TEST(Leases, NamespacesBeyondTheLimitCountTogether) {
  Leases leases;
  const absl::Time now = absl::FromUnixSeconds(1'767'225'600);
  for (int i = 0; i < 10'000; ++i) {
    leases.RenewLookBack({absl::StrCat("made-up-", i)}, absl::Minutes(5), now,
                         now + absl::Hours(1));
  }
  EXPECT_EQ(leases.LookBack({"team-a"}, now), kShortestLookBack);
  leases.RenewLookBack({"team-a"}, absl::Minutes(10), now, now + absl::Hours(1));
  EXPECT_EQ(leases.LookBack({"team-a"}, now), absl::Minutes(10)) << "by the lease of all";
  EXPECT_EQ(leases.LookBack({"team-b"}, now), absl::Minutes(10));
}

}  // namespace
}  // namespace gpuscaler
