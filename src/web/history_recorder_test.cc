#include "web/history_recorder.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "scaling/test_fleet_builder.h"
#include "scaling/test_history_builder.h"
#include "scaling/test_signal_builder.h"
#include "serve/test_scaler_client.h"
#include "serve/test_served_scaler.h"
#include "trigger/test_triggers.h"
#include "web/marks.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class HistoryRecorderTest : public testing::Test {
 protected:
  HistoryRecorderTest() { scaler_.Sample({BusyGpu(0, 60)}); }

  // Ticks each second, with a reading every two seconds.
  void RunFor(absl::Duration duration, const std::vector<GpuSample>& gpus = {BusyGpu(0, 60)}) {
    for (absl::Duration run; run < duration; run += absl::Seconds(1)) {
      scaler_.clock.Advance(absl::Seconds(1));
      if ((run / absl::Seconds(1)) % 2 == 0) scaler_.Sample(gpus);
      recorder_.Tick();
    }
  }

  void Request(const std::map<std::string, std::string>& metadata = {}) {
    (void)scaler_.client.GetMetrics(RefOf(metadata));
  }

  std::vector<HistoryPoint> Points(const TriggerKey& key) {
    const auto series = history_.Read(key, history_.started_at(), scaler_.clock.Now());
    return series.ok() ? series->points : std::vector<HistoryPoint>();
  }

  // Replaces one of that many replicas by another. Returns how many the points have as replaced.
  double ReplaceOneOf(size_t replicas) {
    std::vector<GpuSample> before = {BusyGpu(0, 60)};
    std::vector<GpuSample> after = {FreeGpu(0)};
    for (size_t i = 1; i <= replicas; ++i) {
      after.push_back(BusyGpu(static_cast<int>(i), 60));
      if (i < replicas) before.push_back(after.back());
    }
    Request();
    RunFor(absl::Seconds(30), before);
    Request();  // as KEDA does: one request is a lease for 90 s, which would end with this run
    RunFor(absl::Seconds(60), after);
    double replaced = 0;
    for (const HistoryPoint& point : Points(utilization_)) replaced += point.replaced.value_or(0);
    EXPECT_EQ(Points(utilization_).back().replicas, static_cast<double>(replicas));
    return replaced;
  }

  const TriggerKey utilization_ = {
      .namespace_name = "default", .scaled_object = "llm", .trigger = "gpu_utilization"};
  ServedScaler scaler_;
  TriggerHistory history_{{}, scaler_.clock.Now()};
  HistoryRecorder recorder_{scaler_.clock, *scaler_.service, history_};
};

TEST_F(HistoryRecorderTest, RecordsNothingWithoutARequest) {
  RunFor(absl::Minutes(1));
  EXPECT_THAT(history_.Triggers(), IsEmpty());
}

TEST_F(HistoryRecorderTest, RecordsEachRequestedTriggerInEachStep) {
  Request();
  Request({{"metricName", "second"}});
  RunFor(absl::Seconds(74));
  TriggerKey second = utilization_;
  second.trigger = "second";
  ASSERT_THAT(history_.Triggers(), ElementsAre(utilization_, second));
  for (const TriggerKey& key : {utilization_, second}) {
    const std::vector<HistoryPoint> points = Points(key);
    ASSERT_EQ(points.size(), 5u);
    for (const HistoryPoint& point : points) {
      EXPECT_EQ(point.code, absl::StatusCode::kOk);
      EXPECT_EQ(point.replicas, 1);
      EXPECT_EQ(point.target, 80);
      EXPECT_EQ(point.active, 1);
      EXPECT_EQ(point.gpus, 1);
    }
    EXPECT_EQ(points.back().value, 60);
  }
}

TEST(PointOf, GpusAreUnknownIfReplicasHoldNoKnownOne) {
  Decision decision;
  EXPECT_EQ(PointOf(decision, 80).gpus, 0) << "no replicas";
  decision.contributions = {{.name = "engine-0"}, {.name = "engine-1"}};
  EXPECT_EQ(PointOf(decision, 80).gpus, std::nullopt);
  decision.contributions[1].gpus = {"GPU-a", "GPU-b"};
  EXPECT_EQ(PointOf(decision, 80).gpus, 2);
}

// The workload of a queue may have any number of replicas.
TEST(PointOf, ReplicasAreUnknownIfTheMetricBelongsToNone) {
  Trigger trigger;
  trigger.metric = MetricType::kRedisStreamLag;
  trigger.window = absl::ZeroDuration();
  const absl::Time now = FakeClock().Now();
  SignalBuilder signals(now);
  signals.RepeatFor("stream jobs", kLong, 160);
  const Decision decision = Decide(trigger, {}, {.now = now}, &signals.history(), kStaleness);
  ASSERT_TRUE(decision.status.ok()) << decision.status;
  const HistoryPoint point = PointOf(decision, 80);
  EXPECT_EQ(point.value, 160);
  EXPECT_EQ(point.active, 1);
  EXPECT_EQ(point.replicas, std::nullopt);
  EXPECT_EQ(point.starting, std::nullopt);
  EXPECT_EQ(point.unreadable, std::nullopt);
  EXPECT_EQ(point.terminating, std::nullopt);
  EXPECT_EQ(point.gpus, std::nullopt);
}

TEST_F(HistoryRecorderTest, DoesNotKeepTheLease) {
  Request();
  RunFor(absl::Minutes(5));
  const std::vector<HistoryPoint> points = Points(utilization_);
  ASSERT_EQ(points.size(), 21u);
  EXPECT_TRUE(points[5].value.has_value());
  EXPECT_FALSE(points[7].code.has_value()) << "90 s after the only request";
  EXPECT_FALSE(points.back().code.has_value());
}

TEST_F(HistoryRecorderTest, ErrorIsAPointWithoutValue) {
  Request();
  RunFor(absl::Seconds(30));
  for (int second = 0; second < 30; ++second) {  // no reading: the snapshot grows stale
    scaler_.clock.Advance(absl::Seconds(1));
    recorder_.Tick();
  }
  const std::vector<HistoryPoint> points = Points(utilization_);
  ASSERT_EQ(points.size(), 5u);
  EXPECT_TRUE(points[1].value.has_value());
  EXPECT_EQ(points[3].code, absl::StatusCode::kUnavailable);
  EXPECT_EQ(points[3].value, std::nullopt);
  EXPECT_EQ(points[3].replicas, std::nullopt);
}

TEST_F(HistoryRecorderTest, BadMetadataIsRecordedAsAnError) {
  Request({{"aggregation", "p90"}});
  RunFor(absl::Seconds(15));
  ASSERT_EQ(history_.Triggers().size(), 1u);
  const auto points = Points(history_.Triggers().front());
  ASSERT_FALSE(points.empty());
  EXPECT_EQ(points.front().code, absl::StatusCode::kInvalidArgument);
  const auto why = history_.ExplanationAt(history_.Triggers().front(), absl::InfiniteFuture());
  ASSERT_TRUE(why.ok()) << why.status();
  EXPECT_THAT(why->explanation.message(), testing::HasSubstr("aggregation"));
}

TEST_F(HistoryRecorderTest, ExplanationIsThatOfTheExplainCall) {
  Request();
  RunFor(absl::Seconds(15));
  recorder_.Tick();
  const auto explained = scaler_.client.Explain(RefOf({}));
  ASSERT_TRUE(explained.ok()) << explained.status();
  const auto live = scaler_.service->LiveTriggers();
  ASSERT_EQ(live.size(), 1u);
  EXPECT_EQ(scaler_.service->ExplanationOf(live[0], scaler_.service->Evaluate(live[0])).text(),
            explained->text());
  const auto kept = history_.ExplanationAt(utilization_, absl::InfiniteFuture());
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_EQ(kept->explanation.value(), 60);
  EXPECT_THAT(kept->explanation.text(), testing::HasSubstr("value: 60"));
}

TEST_F(HistoryRecorderTest, ReplacedReplicaIsCounted) { EXPECT_EQ(ReplaceOneOf(1), 1); }

TEST_F(HistoryRecorderTest, ReplacedReplicaOfManyIsCounted) {
  EXPECT_EQ(ReplaceOneOf(KnownReplicas::kMostReplicas), 1);
}

TEST_F(HistoryRecorderTest, ReplacedReplicaOfTooManyIsNotCounted) {
  EXPECT_EQ(ReplaceOneOf(KnownReplicas::kMostReplicas + 1), 0);
}

// A pod of the workload llm.
struct LlmReplica {
  std::string name;
  std::string uid;
  std::string group;
};

class RolloutTest : public testing::Test {
 protected:
  // The node has these pods, of an owner of that kind, for 46 s. Each is Ready and has one GPU.
  void Run(const std::string& kind, const std::vector<LlmReplica>& replicas) {
    scaler_.clock.Advance(absl::Seconds(1));
    Sample(kind, replicas);
    (void)scaler_.client.GetMetrics(RefOf({}));  // a lease for 90 s
    for (int second = 0; second < 45; ++second) {
      scaler_.clock.Advance(absl::Seconds(1));
      if (second % 2 == 1) Sample(kind, replicas);
      recorder_.Tick();
    }
  }

  std::vector<std::string> Marks() {
    const auto series = history_.Read({"default", "llm", "gpu_utilization"}, history_.started_at(),
                                      scaler_.clock.Now());
    if (!series.ok()) return {series.status().ToString()};
    std::vector<std::string> marks;
    for (const HistoryMark& mark : MarksOf(series->points)) {
      marks.push_back(absl::StrCat(Name(mark.kind), ": ", mark.text));
    }
    return marks;
  }

 private:
  void Sample(const std::string& kind, const std::vector<LlmReplica>& replicas) {
    std::vector<GpuPod> pods;
    for (const LlmReplica& replica : replicas) {
      pods.push_back({.name = replica.name,
                      .owner = kind + "/llm",
                      .loads = {60},
                      .ready = true,
                      .namespace_name = "default",
                      .group = replica.group});
    }
    NodeSnapshot snapshot = Node("n", pods);
    for (size_t i = 0; i < replicas.size(); ++i) snapshot.pods[i].uid = replicas[i].uid;
    snapshot.taken_at = scaler_.clock.Now();
    scaler_.memory.Annotate(snapshot);
    scaler_.store.Put(std::move(snapshot));
  }

  ServedScaler scaler_;
  TriggerHistory history_{{}, scaler_.clock.Now()};
  HistoryRecorder recorder_{scaler_.clock, *scaler_.service, history_};
};

TEST_F(RolloutTest, StatefulSetWithEqualNames) {
  Run("StatefulSet", {{"llm-0", "u1", ""}, {"llm-1", "u2", ""}});
  Run("StatefulSet", {{"llm-0", "u1", ""}, {"llm-1", "u3", ""}});
  Run("StatefulSet", {{"llm-0", "u4", ""}, {"llm-1", "u3", ""}});
  EXPECT_THAT(Marks(), ElementsAre("rollout: 1 of 2 replicas was replaced",
                                   "rollout: 1 of 2 replicas was replaced"));
}

// The leader runs first, and its worker follows.
TEST_F(RolloutTest, GroupOfALeaderWorkerSetIsReplacedOnce) {
  Run("LeaderWorkerSet", {{"llm-0", "u1", "llm-0"}, {"llm-0-1", "u2", "llm-0"}});
  Run("LeaderWorkerSet", {{"llm-0", "u3", "llm-0"}});
  Run("LeaderWorkerSet", {{"llm-0", "u3", "llm-0"}, {"llm-0-1", "u4", "llm-0"}});
  EXPECT_THAT(Marks(), ElementsAre("rollout: the replica was replaced"));
}

TEST_F(RolloutTest, RecreateOfADeployment) {
  Run("Deployment", {{"llm-6d4cf56db6-x7k2p", "u1", ""}});
  Run("Deployment", {});
  Run("Deployment", {{"llm-7f9c8d5b4b-b4m9q", "u2", ""}});
  EXPECT_THAT(Marks(), ElementsAre("scale: from 1 to 0 replicas", "scale: from 0 to 1 replica",
                                   "rollout: the replica was replaced"));
}

TEST_F(RolloutTest, SurgeOfADeployment) {
  Run("Deployment", {{"llm-6d4cf56db6-x7k2p", "u1", ""}});
  Run("Deployment", {{"llm-6d4cf56db6-x7k2p", "u1", ""}, {"llm-7f9c8d5b4b-b4m9q", "u2", ""}});
  Run("Deployment", {{"llm-7f9c8d5b4b-b4m9q", "u2", ""}});
  EXPECT_THAT(Marks(),
              ElementsAre("scale: from 1 to 2 replicas", "rollout: 1 of 2 replicas was replaced",
                          "scale: from 2 to 1 replica"));
}

TEST_F(RolloutTest, ScalingADeploymentIsNone) {
  Run("Deployment", {{"llm-6d4cf56db6-x7k2p", "u1", ""}});
  Run("Deployment", {{"llm-6d4cf56db6-x7k2p", "u1", ""}, {"llm-6d4cf56db6-b4m9q", "u2", ""}});
  Run("Deployment", {{"llm-6d4cf56db6-x7k2p", "u1", ""}});
  EXPECT_THAT(Marks(), ElementsAre("scale: from 1 to 2 replicas", "scale: from 2 to 1 replica"));
}

TEST_F(HistoryRecorderTest, RecordsAtOnceAfterADayWithoutTicks) {
  Request();
  RunFor(absl::Seconds(30));
  scaler_.clock.Advance(absl::Hours(48));
  scaler_.Sample({BusyGpu(0, 60)});
  Request();
  RunFor(absl::Seconds(30));
  const auto series = history_.Read(utilization_, history_.started_at(), scaler_.clock.Now());
  ASSERT_TRUE(series.ok()) << series.status();
  EXPECT_LT(scaler_.clock.Now() - series->since, absl::Minutes(1)) << "what is older has left";
  EXPECT_TRUE(series->points.back().value.has_value());
}

}  // namespace
}  // namespace gpuscaler
