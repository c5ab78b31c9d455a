#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "scaling/decision.h"
#include "scaling/test_signal_builder.h"
#include "trigger/test_triggers.h"

namespace gpuscaler {
namespace {

using ::testing::HasSubstr;

const absl::Time kNow = absl::FromUnixSeconds(1'767'225'600);

Trigger Lag(double jobs_per_replica = 5) {
  Trigger trigger;
  trigger.metric = MetricType::kRedisStreamLag;
  trigger.target = jobs_per_replica;
  trigger.aggregation = Aggregation::kSum;
  trigger.window = absl::ZeroDuration();
  trigger.activation_window = absl::ZeroDuration();
  return trigger;
}

Decision DecideOn(const Trigger& trigger, const SignalHistory& signals, absl::Time now = kNow) {
  return Decide(trigger, {.namespace_name = "team-a", .name = "work"}, {.now = now}, &signals,
                kStaleness);
}

TEST(QueueDecision, AQueueIsItsLengthAndNeedsNoNode) {
  SignalBuilder signals(kNow);
  signals.RepeatFor("stream jobs", kLong, 46);
  signals.Then("stream jobs", absl::ZeroDuration(), 47);
  const Decision decision = DecideOn(Lag(), signals.history());
  ASSERT_TRUE(decision.status.ok()) << decision.status;
  EXPECT_EQ(decision.value, 47);
  EXPECT_TRUE(decision.active);
  EXPECT_EQ(decision.active_because, "stream jobs is at 47, above activationThreshold 0");
  EXPECT_EQ(decision.replicas, 0);
  EXPECT_THAT(Explain(Lag(), decision),
              HasSubstr("replicas: none (the metric belongs to no replica)"));
}

TEST(QueueDecision, NoteOfTheQueueIsReported) {
  SignalBuilder signals(kNow);
  signals.RepeatFor("stream jobs", kLong, 47).note = "stream jobs has no group workers";
  const Decision decision = DecideOn(Lag(), signals.history());
  EXPECT_EQ(decision.value, 47);
  EXPECT_THAT(Explain(Lag(), decision), HasSubstr("note: stream jobs has no group workers\n"));
}

TEST(QueueDecision, WithTargetTypeValueItIsThePlainTotal) {
  SignalBuilder signals(kNow);
  signals.RepeatFor("stream jobs", kLong, 47);
  Trigger trigger = Lag();
  trigger.target_type = TargetType::kValue;
  EXPECT_EQ(DecideOn(trigger, signals.history()).value, 47);
}

TEST(QueueDecision, AnEmptyQueueIsInactiveAtOnce) {
  SignalBuilder signals(kNow);
  signals.RepeatFor("stream jobs", kLong, 47);
  signals.Then("stream jobs", absl::Seconds(1), 0);
  const Decision decision = DecideOn(Lag(), signals.history());
  EXPECT_EQ(decision.value, 0);
  EXPECT_FALSE(decision.active);
  EXPECT_EQ(decision.active_because, "it was not above activationThreshold 0");
}

TEST(QueueDecision, AnEmptiedQueueIsActiveForTheActivationWindow) {
  SignalBuilder signals(kNow);
  signals.RepeatFor("stream jobs", kLong, 47);
  signals.Then("stream jobs", absl::Seconds(20), 0);
  Trigger trigger = Lag();
  trigger.activation_window = absl::Seconds(30);
  EXPECT_TRUE(DecideOn(trigger, signals.history()).active);
  trigger.activation_window = absl::Seconds(15);
  EXPECT_FALSE(DecideOn(trigger, signals.history()).active);
}

TEST(QueueDecision, InactiveNeedsReadingsForTheWholeActivationWindow) {
  SignalBuilder signals(kNow);
  signals.RepeatFor("stream jobs", absl::Seconds(20), 0);
  Trigger trigger = Lag();
  trigger.activation_window = absl::Seconds(60);
  const Decision decision = DecideOn(trigger, signals.history());
  EXPECT_TRUE(decision.active);
  EXPECT_THAT(decision.active_because, HasSubstr("samples cover only"));
}

TEST(QueueDecision, AWindowSmoothsAndARateIsNotSmoothedAgain) {
  SignalBuilder signals(kNow);
  signals.RepeatFor("page", kLong, 0);
  signals.Then("page", absl::Seconds(4), 10);
  Trigger trigger = Lag();
  trigger.metric = MetricType::kPrometheus;
  trigger.window = absl::Seconds(10);
  EXPECT_EQ(DecideOn(trigger, signals.history()).value, 5);
  trigger.metrics_endpoint.rate = true;
  EXPECT_EQ(DecideOn(trigger, signals.history()).value, 10);
}

TEST(QueueDecision, AFailedReadingIsBridgedAndAnUnreadableQueueIsUnavailableNotEmpty) {
  SignalBuilder signals(kNow);
  signals.RepeatFor("stream jobs", kLong, 47);
  signals.Then("stream jobs", absl::Seconds(5), std::nullopt);
  EXPECT_EQ(DecideOn(Lag(), signals.history()).value, 47);

  signals.Then("stream jobs", absl::Seconds(12), std::nullopt);
  const Decision decision = DecideOn(Lag(), signals.history());
  EXPECT_EQ(decision.status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(decision.status.message(), "stream jobs unreadable for 13s: connection refused");

  signals.RepeatFor("stream jobs", kLong, std::nullopt);
  EXPECT_EQ(DecideOn(Lag(), signals.history()).status.code(), absl::StatusCode::kUnavailable);
}

TEST(QueueDecision, ReadingsThatStoppedAltogetherAreUnavailable) {
  SignalBuilder signals(kNow);
  signals.RepeatFor("stream jobs", kLong, 47);
  const Decision decision = DecideOn(Lag(), signals.history(), kNow + absl::Hours(1));
  EXPECT_EQ(decision.status.code(), absl::StatusCode::kUnavailable);
}

TEST(QueueDecision, ExplanationListsEachAddress) {
  SignalBuilder signals(kNow);
  SignalSeries& page = signals.RepeatFor("queue_size at http://gateway", kLong, 15);
  page.parts = {{.address = "10.0.0.1", .value = 12}, {.address = "10.0.0.2", .value = 3}};
  Trigger trigger = Lag();
  trigger.metric = MetricType::kPrometheus;
  const Decision decision = DecideOn(trigger, signals.history());
  EXPECT_EQ(decision.value, 15);
  EXPECT_THAT(Explain(trigger, decision), HasSubstr("10.0.0.1 12, 10.0.0.2 3\n"));

  page.parts[1] = {.address = "10.0.0.2", .error = "connection refused"};
  EXPECT_THAT(Explain(trigger, DecideOn(trigger, signals.history())),
              HasSubstr("10.0.0.1 12, 10.0.0.2 connection refused\n"))
      << "bridged, and reported";
  page.parts.pop_back();
  EXPECT_EQ(DecideOn(trigger, signals.history()).contributions.front().because, "");
}

TEST(QueueDecision, StatusOfTheSignalsIsReturned) {
  SignalBuilder signals(kNow);
  signals.history().status = absl::PermissionDeniedError("redis.other.svc is not of team-a");
  EXPECT_EQ(DecideOn(Lag(), signals.history()).status, signals.history().status);

  const Decision nobody = Decide(Lag(), {}, {.now = kNow}, kStaleness);
  EXPECT_EQ(nobody.status, absl::UnavailableError("redis_stream_lag: not read yet"));
  signals.history().status = absl::OkStatus();
  EXPECT_EQ(DecideOn(Lag(), signals.history()).status, nobody.status);
  signals.history().series.push_back({.name = "stream jobs", .error = "connection refused"});
  EXPECT_EQ(DecideOn(Lag(), signals.history()).status,
            absl::UnavailableError("stream jobs: connection refused"));
}

// Without new readings, the decision is right until its times.
TEST(QueueDecision, DecisionIsValidUntilItsExpiryTimes) {
  SignalBuilder signals(kNow);
  signals.RepeatFor("stream jobs", kLong, 47);
  signals.Then("stream jobs", absl::Seconds(8), 0);
  for (const absl::Duration window : {absl::ZeroDuration(), absl::Seconds(10)}) {
    Trigger trigger = Lag();
    trigger.window = window;
    trigger.activation_window = window;
    const Decision first = DecideOn(trigger, signals.history());
    for (absl::Duration later; later < absl::Seconds(20); later += absl::Milliseconds(250)) {
      const Decision then = DecideOn(trigger, signals.history(), kNow + later);
      if (kNow + later < first.active_until) {
        EXPECT_EQ(then.active, first.active) << later;
        EXPECT_EQ(then.status, first.status) << later;
      }
      EXPECT_TRUE(kNow + later >= first.valid_until || then.value == first.value) << later;
      EXPECT_TRUE(kNow + later >= first.evidence_until || then.active) << later;
    }
  }
}

}  // namespace
}  // namespace gpuscaler
