#include "serve/outcome.h"

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

TEST(OutcomeOf, ReturnsTheMostSevere) {
  Decision decision;
  EXPECT_EQ(OutcomeOf(decision), Outcome::kValue);
  decision.literal_memory = true;
  EXPECT_EQ(OutcomeOf(decision), Outcome::kLiteralMemory);
  decision.saturation_unknown = true;
  EXPECT_EQ(OutcomeOf(decision), Outcome::kSaturationUnknown);
  decision.held_because = "llm-b starts";
  EXPECT_EQ(OutcomeOf(decision), Outcome::kHeld);
  decision.unstarted = {"llm-c"};
  EXPECT_EQ(OutcomeOf(decision), Outcome::kUnstarted);
  decision.frozen = 1;
  EXPECT_EQ(OutcomeOf(decision), Outcome::kFrozen);
  decision.unreadable = 1;
  EXPECT_EQ(OutcomeOf(decision), Outcome::kPartial);
  decision.unreadable = 0;
  decision.unreadable_unused = 1;
  EXPECT_EQ(OutcomeOf(decision), Outcome::kPartial);
  decision.status = absl::UnavailableError("no GPU can be read");
  EXPECT_EQ(OutcomeOf(decision), Outcome::kUnavailable);
  decision.status = absl::FailedPreconditionError("no GPU in scope has nvlink_tx_mbps");
  EXPECT_EQ(OutcomeOf(decision), Outcome::kUnsupported);
}

}  // namespace
}  // namespace gpuscaler
