#include "lab/demo_outcome.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trigger/test_parsed_trigger.h"

namespace gpuscaler {
namespace {

DemoExpectation ExpectationOfProfile(const std::string& profile) {
  return ExpectationOf(Parsed({{"profile", profile}}));
}

TEST(DemoOutcome, ExpectsSeveralReplicasAndBackToZero) {
  const DemoExpectation expectation = ExpectationOfProfile("vllm-inference");
  EXPECT_TRUE(
      CheckObservation(expectation, {.began_at_zero = true, .most_ready = 3, .last = 0}).ok());
  for (const DemoObservation& observed :
       {DemoObservation{.began_at_zero = false, .most_ready = 5, .last = 0},
        DemoObservation{.began_at_zero = true, .most_ready = 2, .last = 0},
        DemoObservation{.began_at_zero = true, .most_ready = 5, .last = 1}}) {
    EXPECT_EQ(CheckObservation(expectation, observed).code(),
              absl::StatusCode::kFailedPrecondition);
  }
}

TEST(DemoOutcome, ReportsAMachineThatIsTooSlow) {
  const DemoExpectation expectation = ExpectationOfProfile("vllm-inference");
  DemoObservation observed{
      .began_at_zero = true, .most_ready = 2, .speed = 150, .sent = 90, .late = 10};
  EXPECT_EQ(CheckObservation(expectation, observed),
            absl::ResourceExhaustedError(
                "--speed=150 is too fast for this machine: 10 of 90 requests were sent late; use "
                "--speed=50 (no more than 2 replicas ready at once, of 3 at least)"));
  observed.late = 9;
  EXPECT_EQ(CheckObservation(expectation, observed).code(), absl::StatusCode::kFailedPrecondition);
  observed = {.began_at_zero = true, .most_ready = 3, .sent = 90, .late = 90};
  EXPECT_EQ(CheckObservation(expectation, observed), absl::OkStatus());
}

TEST(DemoOutcome, ExpectsTrainingNeverToGoToZero) {
  const DemoExpectation expectation = ExpectationOfProfile("training");
  EXPECT_FALSE(expectation.because.empty());
  EXPECT_TRUE(
      CheckObservation(expectation, {.began_at_zero = false, .most_ready = 2, .last = 1}).ok());
  EXPECT_FALSE(
      CheckObservation(expectation, {.began_at_zero = true, .most_ready = 2, .last = 0}).ok());
}

TEST(DemoOutcome, ExpectsOneReplicaOfOllama) {
  const DemoExpectation expectation = ExpectationOfProfile("ollama");
  EXPECT_FALSE(expectation.because.empty());
  EXPECT_TRUE(
      CheckObservation(expectation, {.began_at_zero = true, .most_ready = 1, .last = 0}).ok());
}

}  // namespace
}  // namespace gpuscaler
