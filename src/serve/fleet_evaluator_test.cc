// Decisions on a fleet: which changes cause decisions, and what changes by time alone.
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "serve/test_fleet_fixture.h"
#include "serve/trigger_evaluator.h"

namespace gpuscaler {
namespace {

class TriggerEvaluatorOnFleetTest : public FleetFixture {
 protected:
  TriggerEvaluator::EvaluationOr Evaluated(TriggerEntry& trigger) {
    return evaluator_.Try(DecisionPart::kAll, trigger, evaluator_.Parse(trigger));
  }

  TriggerEvaluator evaluator_{{.stale_after = kSixSeconds, .grace = absl::Seconds(15)},
                              clock_,
                              queries_,
                              leases_,
                              profiles_,
                              counted_,
                              [] {}};
};

TEST_F(TriggerEvaluatorOnFleetTest, ChangesOfOtherNamespacesCauseNoDecision) {
  TriggerCache cache({});
  constexpr int kObjects = 500;
  const auto evaluate_all = [&] {
    for (int i = 0; i < kObjects; ++i) {
      const std::string name = i == 0 ? "team-a" : absl::StrCat("sleeper-", i);
      ASSERT_TRUE(Evaluated(*cache.Get(RefIn(name))).ok());
    }
  };
  evaluate_all();
  EXPECT_EQ(counted_.decided(Outcome::kValue), kObjects);
  for (int second = 0; second < 60; ++second) {
    clock_.Advance(absl::Seconds(1));
    Report("b", second);
    Report("a", second);
    store_.Tick();
    evaluate_all();
  }
  EXPECT_EQ(counted_.decided(Outcome::kValue), kObjects + 60) << "team-a's alone";
}

// 500 ScaledObjects in one namespace, each with its workload's name or with it in the metadata.
TEST_F(TriggerEvaluatorOnFleetTest, ChangesOfOtherWorkloadsOfTheNamespaceCauseNoDecision) {
  constexpr int kObjects = 500;
  std::vector<std::string> nodes;
  for (int i = 0; i < kObjects; ++i) nodes.push_back(absl::StrCat("n", i, ":1"));
  store_.Listed(nodes);
  for (int i = 0; i < kObjects; ++i) ReportWorkload(i, 0);
  TriggerCache cache({});
  const auto evaluate_all = [&] {
    for (int i = 0; i < kObjects; ++i) {
      externalscaler::ScaledObjectRef ref = RefIn("crowd");
      if (i % 2 == 0) {
        ref.set_name(absl::StrCat("workload-", i));
      } else {
        (*ref.mutable_scalermetadata())["workload"] = absl::StrCat("workload-", i);
      }
      ASSERT_TRUE(Evaluated(*cache.Get(ref)).ok());
    }
  };
  evaluate_all();
  EXPECT_EQ(counted_.decided(Outcome::kValue), kObjects);
  for (int millisecond = 1; millisecond <= 100; ++millisecond) {
    clock_.Advance(absl::Milliseconds(1));
    ReportWorkload(7, millisecond);
    evaluate_all();
  }
  EXPECT_EQ(counted_.decided(Outcome::kValue), kObjects + 100) << "workload-7's alone";
}

// A node that disconnected before the reading was requested never takes it.
TEST_F(TriggerEvaluatorOnFleetTest, CostlyReadingOfADisconnectedNodeIsNotAwaited) {
  const auto report_pcie = [this](const std::string& team, std::optional<double> tx_kbps) {
    NodeSnapshot snapshot = SnapshotOf(1, clock_.Now(), absl::StrCat("gpu-", team));
    GpuSample& gpu = snapshot.gpus[0];
    gpu.utilization_percent = 50;
    gpu.pcie_tx_kbps = tx_kbps;
    gpu.gaps.clear();
    if (!tx_kbps) gpu.gaps = {{GpuField::kPcie, GpuGap::Reason::kNotRequested, ""}};
    AddPods(snapshot);
    Send(team, std::move(snapshot));
  };
  TriggerEntry trigger(RefIn("team-a", {{"metricType", "pcie_tx_kbps"},
                                        {"targetValue", "1000"},
                                        {"scope", "fleet"},
                                        {"window", "0s"}}));
  clock_.Advance(absl::Seconds(1));
  report_pcie("a", 700);
  report_pcie("b", std::nullopt);
  EXPECT_EQ(Evaluated(trigger).status().code(), absl::StatusCode::kUnavailable);
  store_.Lost("b:1", absl::UnavailableError("connection refused"));
  const auto evaluated = Evaluated(trigger);
  ASSERT_TRUE(evaluated.ok()) << evaluated.status();
  EXPECT_EQ(evaluated->cached->decision.value, 700 + 1000) << "it counts as at the target";
}

TEST_F(TriggerEvaluatorOnFleetTest, DisconnectedAgentCausesNoDecisionForOthers) {
  TriggerEntry sleeper(RefIn("sleeper"));
  ASSERT_TRUE(Evaluated(sleeper).ok());
  clock_.Advance(absl::Minutes(1));
  store_.Tick();
  ASSERT_TRUE(Evaluated(sleeper).ok());
  EXPECT_EQ(counted_.decided(Outcome::kValue), 1);
}

TEST_F(TriggerEvaluatorOnFleetTest, CachedDecisionExpiresWithoutNewReadings) {
  RepeatFor(absl::Minutes(3), 50, 50);
  TriggerEntry trigger(RefIn("team-a"));
  const auto fresh = Evaluated(trigger);
  ASSERT_TRUE(fresh.ok()) << fresh.status();
  EXPECT_EQ(fresh->cached->decision.value, 50);
  clock_.Advance(absl::Seconds(14));
  const auto in_grace = Evaluated(trigger);
  ASSERT_TRUE(in_grace.ok());
  EXPECT_EQ(in_grace->cached->decision.value, 50) << in_grace->cached->decision.status;
  clock_.Advance(absl::Seconds(2));
  const auto silent = Evaluated(trigger);
  ASSERT_TRUE(silent.ok());
  EXPECT_EQ(silent->cached->decision.status.code(), absl::StatusCode::kUnavailable);
}

TEST_F(TriggerEvaluatorOnFleetTest, LongWindowRenewsTheLookBack) {
  const auto request = [&](const std::string& namespace_name,
                           const std::map<std::string, std::string>& metadata) {
    TriggerEntry trigger(RefIn(namespace_name, metadata));
    evaluator_.RecordRequest(trigger, *evaluator_.Parse(trigger));
  };
  request("team-a", {{"profile", "vllm-inference"}});
  EXPECT_EQ(leases_.LongestLookBack(clock_.Now()), kShortestLookBack);
  request("team-a", {{"profile", "batch"}});
  EXPECT_EQ(leases_.LookBack({"team-a"}, clock_.Now()), absl::Minutes(5));
  EXPECT_EQ(leases_.LookBack({"team-b"}, clock_.Now()), kShortestLookBack);
  request("team-a", {{"profile", "training"}, {"scope", "fleet"}});
  EXPECT_EQ(leases_.LookBack({"team-b"}, clock_.Now()), absl::Minutes(10));
  EXPECT_EQ(leases_.LookBack({"team-b"}, clock_.Now() + kShortestLease), kShortestLookBack);
}

TEST_F(TriggerEvaluatorOnFleetTest, StartOfAReplicaExtendsTheLookBack) {
  TriggerEntry trigger(RefIn("team-a"));
  const auto request = [&] {
    evaluator_.RecordRequest(trigger, *evaluator_.Parse(trigger));
    return Evaluated(trigger);
  };
  RepeatFor(absl::Minutes(3), 50, 50);
  ASSERT_TRUE(request().ok());
  EXPECT_EQ(leases_.LookBack({"team-a"}, clock_.Now()), kShortestLookBack);
  NodeSnapshot snapshot = SnapshotOf(2, clock_.Now() + absl::Seconds(1), "gpu-a");
  AddPods(snapshot);
  snapshot.pods[1].ready = snapshot.pods[1].was_ready = false;
  snapshot.pods[1].listed_since = snapshot.taken_at;
  clock_.Advance(absl::Seconds(1));
  Send("a", std::move(snapshot));
  const auto held = request();
  ASSERT_TRUE(held.ok()) << held.status();
  EXPECT_EQ(held->cached->decision.starting, 1);
  ASSERT_TRUE(request().ok());
  EXPECT_EQ(leases_.LookBack({"team-a"}, clock_.Now()), absl::Minutes(10));
  EXPECT_EQ(leases_.LookBack({"team-b"}, clock_.Now()), kShortestLookBack);
}

}  // namespace
}  // namespace gpuscaler
