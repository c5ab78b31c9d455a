#include "fleet/membership.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const absl::Time kFirstAsked = absl::FromUnixSeconds(1'767'225'600);

absl::Time At(int seconds) { return kFirstAsked + absl::Seconds(seconds); }

TEST(Membership, NothingIsKnownBeforeTheFirstAnswer) {
  const Membership membership({});
  EXPECT_TRUE(membership.IsUnknown());
  EXPECT_FALSE(membership.IsEmpty(At(0))) << "unknown is never empty";
  EXPECT_FALSE(membership.IsEmpty(At(3600)));
}

TEST(Membership, AgentThatIsNotListedIsForgottenAfterForgetAfter) {
  Membership membership({.forget_after = absl::Minutes(5)});
  membership.Answered({"a", "b"}, At(0));
  membership.Answered({"b"}, At(10));
  membership.Answered({"b"}, At(309));
  EXPECT_FALSE(membership.IsForgotten("a"));
  membership.Answered({"b"}, At(310));
  EXPECT_TRUE(membership.IsForgotten("a"));
  EXPECT_THAT(membership.Listed(), ElementsAre("b"));
}

TEST(Membership, ListingAnAgentAgainResetsItsAbsence) {
  Membership membership({.forget_after = absl::Minutes(5)});
  membership.Answered({"a"}, At(0));
  membership.Answered({}, At(10));
  membership.Answered({"a"}, At(300));
  membership.Answered({}, At(310));
  membership.Answered({}, At(609));
  EXPECT_FALSE(membership.IsForgotten("a")) << "its absence began again";
}

TEST(Membership, InitialAgentsAreAwaitedAndLaterOnesAreNot) {
  Membership membership({.grace = absl::Seconds(15), .empty_after = absl::Minutes(1)});
  membership.Answered({}, At(0));
  membership.Answered({"a"}, At(20));
  membership.Answered({"a", "b"}, At(35));
  membership.Answered({"a", "b", "c"}, At(36));
  EXPECT_EQ(membership.AwaitedUntil("a"), At(80));
  EXPECT_EQ(membership.AwaitedUntil("b"), At(95)) << "DNS may list the agents one after another";
  EXPECT_EQ(membership.AwaitedUntil("c"), absl::InfinitePast());
  EXPECT_EQ(membership.AwaitedUntil("nobody"), absl::InfinitePast());
}

TEST(Membership, FailingDnsForgetsNoAgent) {
  Membership membership({.forget_after = absl::Minutes(5)});
  membership.Answered({"a"}, At(0));
  membership.Answered({}, At(10));
  // An hour without an answer.
  EXPECT_FALSE(membership.IsForgotten("a"));
  EXPECT_FALSE(membership.IsEmpty(At(3600)));
}

TEST(Membership, EmptyOnceTheAnswerIsEmptyForEmptyAfter) {
  Membership membership({.empty_after = absl::Minutes(1)});
  membership.Answered({}, At(0));
  EXPECT_FALSE(membership.IsEmpty(At(0))) << "the Service may be new";
  membership.Answered({}, At(51));
  EXPECT_FALSE(membership.IsEmpty(At(59)));
  EXPECT_TRUE(membership.IsEmpty(At(60))) << "by the clock, not by the next answer";
  membership.Answered({"a"}, At(70));
  EXPECT_FALSE(membership.IsEmpty(At(70)));
  membership.Answered({}, At(80));
  EXPECT_FALSE(membership.IsEmpty(At(139)));
}

TEST(Membership, EmptyAnswerIsValidForTwentySeconds) {
  Membership membership({.empty_after = absl::Minutes(1)});
  membership.Answered({}, At(0));
  membership.Answered({}, At(39));
  EXPECT_FALSE(membership.IsEmpty(At(3600)));
  membership.Answered({}, At(3600));
  EXPECT_TRUE(membership.IsEmpty(At(7200))) << "without a new answer the last one counts";
}

TEST(Membership, AgentsListedAfterAllWereForgottenAreInitialAgain) {
  Membership membership({.grace = absl::Seconds(15), .empty_after = absl::Minutes(1)});
  membership.Answered({"a", "b"}, At(0));
  membership.Answered({}, At(100));
  membership.Answered({}, At(400));
  EXPECT_TRUE(membership.IsForgotten("a"));
  membership.Answered({"a", "b"}, At(500));
  EXPECT_EQ(membership.AwaitedUntil("b"), At(560));
  membership.Answered({"a", "b", "c"}, At(516));
  EXPECT_EQ(membership.AwaitedUntil("c"), absl::InfinitePast()) << "it joined later";
}

TEST(Membership, UnknownAddressIsForgotten) {
  Membership membership({});
  membership.Answered({"a"}, At(0));
  EXPECT_TRUE(membership.IsForgotten("x"));
}

}  // namespace
}  // namespace gpuscaler
