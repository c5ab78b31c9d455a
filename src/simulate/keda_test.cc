#include "simulate/keda.h"

#include <map>
#include <memory>
#include <string>

#include "base/fake_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

class FakeScaler : public Scaler {
 public:
  absl::StatusOr<double> GetMetrics() override { return value; }
  absl::StatusOr<bool> IsActive() override { return active; }

  absl::StatusOr<double> value = 0.0;
  absl::StatusOr<bool> active = false;
};

// Runs a workload under one ScaledObject second by second. Its replicas are ready at once.
class KedaTest : public testing::Test {
 protected:
  void Start(const ScaledObjectSpec& spec, const std::vector<KedaTrigger>& triggers) {
    keda_.emplace(spec, triggers);
    started_at_ = clock_.Now();
  }

  // Records the changes of the replica count with their seconds.
  void RunFor(absl::Duration duration) {
    for (absl::Duration passed; passed < duration; passed += absl::Seconds(1)) {
      const int before = replicas_;
      replicas_ = keda_->Step(clock_.Now(), replicas_, replicas_);
      if (replicas_ != before) {
        changes_[absl::ToInt64Seconds(clock_.Now() - started_at_)] = replicas_;
      }
      clock_.Advance(absl::Seconds(1));
    }
  }

  void Fail(FakeScaler& scaler) { scaler.value = absl::UnavailableError("no GPU snapshot yet"); }

  FakeClock clock_;
  absl::Time started_at_;
  const std::shared_ptr<FakeScaler> gpu_ = std::make_shared<FakeScaler>();
  const std::shared_ptr<FakeScaler> queue_ = std::make_shared<FakeScaler>();
  std::optional<Keda> keda_;
  int replicas_ = 0;
  std::map<int64_t, int> changes_;
};

TEST_F(KedaTest, WakesWithOneReplicaAtAPollAndLeavesTheRestToTheHpa) {
  Start({}, {{gpu_, 80}});
  RunFor(absl::Seconds(31));
  gpu_->active = true;
  gpu_->value = 320.0;
  RunFor(absl::Minutes(2));
  EXPECT_THAT(changes_, ElementsAre(Pair(60, 1), Pair(75, 4)))
      << "a poll every 30 s, a sync every 15 s";
}

TEST_F(KedaTest, GoesToZeroOnceTheCooldownAfterTheLastActivePollIsOver) {
  Start({}, {{gpu_, 80}});
  replicas_ = 1;
  gpu_->active = true;
  RunFor(absl::Seconds(91));
  gpu_->active = false;
  RunFor(absl::Minutes(10));
  EXPECT_THAT(changes_, ElementsAre(Pair(420, 0)))
      << "active at 90 s, 300 s later not yet, at the next poll";
}

TEST_F(KedaTest, AnyActiveTriggerKeepsReplicas) {
  Start({}, {{gpu_, 80}, {queue_, 1}});
  replicas_ = 1;
  queue_->active = true;
  RunFor(absl::Minutes(20));
  EXPECT_EQ(replicas_, 1);
}

TEST_F(KedaTest, TheTriggerWithTheHighestProposalWins) {
  Start({}, {{gpu_, 80}, {queue_, 1}});
  replicas_ = 2;
  gpu_->active = true;
  gpu_->value = 150.0;
  queue_->value = 5.0;
  RunFor(absl::Minutes(1));
  EXPECT_EQ(replicas_, 5);
}

TEST_F(KedaTest, KeepsReplicasIfTheScalerFailsWithoutAFallback) {
  Start({}, {{gpu_, 80}});
  replicas_ = 3;
  Fail(*gpu_);
  RunFor(absl::Hours(1));
  EXPECT_EQ(replicas_, 3);
}

TEST_F(KedaTest, AnIsActiveErrorDiscardsTheValue) {
  Start({}, {{gpu_, 80}});
  replicas_ = 1;
  gpu_->value = 800.0;
  gpu_->active = absl::UnavailableError("stale");
  RunFor(absl::Minutes(2));
  EXPECT_EQ(replicas_, 1);
}

TEST_F(KedaTest, TheFirstInactiveAnswerAfterALongOutageGoesToZeroWithoutCooldown) {
  Start({}, {{gpu_, 80}});
  replicas_ = 3;
  gpu_->active = true;
  gpu_->value = 240.0;
  RunFor(absl::Minutes(1));
  Fail(*gpu_);
  RunFor(absl::Minutes(6));
  EXPECT_EQ(replicas_, 3);
  gpu_->value = 0.0;
  gpu_->active = false;
  RunFor(absl::Seconds(1));
  EXPECT_EQ(replicas_, 0);
}

TEST_F(KedaTest, AFailingTriggerAllowsScaleOutOnly) {
  Start({}, {{gpu_, 80}, {queue_, 1}});
  replicas_ = 4;
  Fail(*gpu_);
  queue_->active = true;
  queue_->value = 6.0;
  RunFor(absl::Minutes(1));
  EXPECT_EQ(replicas_, 6);
  queue_->value = 1.0;
  RunFor(absl::Minutes(20));
  EXPECT_EQ(replicas_, 6);
}

TEST_F(KedaTest, AStaticFallbackWakesFromZeroAndScalesInBusyWorkloads) {
  Start({.fallback = Fallback{.failure_threshold = 3, .replicas = 4}}, {{gpu_, 80}});
  Fail(*gpu_);
  RunFor(absl::Minutes(3));
  EXPECT_EQ(replicas_, 4);
  replicas_ = 10;
  RunFor(absl::Minutes(6));
  EXPECT_EQ(replicas_, 4);
}

TEST_F(KedaTest, AFallbackToCurrentReplicasIfHigherNeverScalesIn) {
  Start({.min_replica_count = 1,
         .fallback =
             Fallback{.replicas = 4, .behavior = Fallback::Behavior::kCurrentReplicasIfHigher}},
        {{gpu_, 80}});
  replicas_ = 10;
  Fail(*gpu_);
  RunFor(absl::Minutes(20));
  EXPECT_EQ(replicas_, 10);
}

TEST_F(KedaTest, RaisesToTheMinimumAndStaysThere) {
  Start({.min_replica_count = 2}, {{gpu_, 80}});
  RunFor(absl::Minutes(20));
  EXPECT_THAT(changes_, ElementsAre(Pair(0, 2)));
}

TEST_F(KedaTest, NeverExceedsTheMaximum) {
  Start({.max_replica_count = 7}, {{gpu_, 80}});
  gpu_->active = true;
  gpu_->value = 1e6;
  RunFor(absl::Minutes(5));
  EXPECT_EQ(replicas_, 7);
}

}  // namespace
}  // namespace gpuscaler
