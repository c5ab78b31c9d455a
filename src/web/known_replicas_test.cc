#include "web/known_replicas.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "web/history_point.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;

// Counts the replicas of one decision after another, a step apart.
class KnownReplicasTest : public testing::Test {
 protected:
  // A replica without a UID if `uid` is empty.
  static Contribution Pod(const std::string& name, const std::string& uid) {
    return {.name = name, .uid_hash = uid.empty() ? 0 : absl::HashOf(uid)};
  }

  // A pod of the Deployment llm. The UIDs of two pods differ, as their names do.
  static std::string PodOf(const std::string& pod_template, const std::string& suffix) {
    return absl::StrCat("llm-", pod_template, "-x7k2", suffix);
  }
  static std::vector<Contribution> Pods(const std::vector<std::string>& names) {
    std::vector<Contribution> pods;
    pods.reserve(names.size());
    for (const std::string& name : names) pods.push_back(Pod(name, name));
    return pods;
  }

  int Count(std::vector<Contribution> replicas) {
    Decision decision;
    decision.contributions = std::move(replicas);
    at_ += kHistoryStep;
    return known_.CountReplaced(decision, at_);
  }
  int CountPods(const std::vector<std::string>& names) { return Count(Pods(names)); }
  void Wait(absl::Duration duration) { at_ += duration; }

  const std::string a1_ = PodOf("6d4cf56db6", "b");
  const std::string a2_ = PodOf("6d4cf56db6", "c");
  const std::string a3_ = PodOf("6d4cf56db6", "d");
  const std::string a4_ = PodOf("6d4cf56db6", "f");
  const std::string b1_ = PodOf("7f9c8d5b4b", "g");
  const std::string b2_ = PodOf("7f9c8d5b4b", "h");
  const std::string b3_ = PodOf("7f9c8d5b4b", "j");
  const std::string b4_ = PodOf("7f9c8d5b4b", "k");
  const std::string b5_ = PodOf("7f9c8d5b4b", "l");

 private:
  KnownReplicas known_;
  absl::Time at_ = absl::FromUnixSeconds(1'767'225'600);
};

TEST(CountedReplicas, HasEachNameOfACountedReplicaOnce) {
  Decision decision;
  decision.contributions = {{.name = "n/1"}, {.name = "n/0"}, {.name = "n/1"}, {.name = "n/2"}};
  decision.contributions[3].state = Contribution::State::kStarting;
  std::vector<size_t> names;
  for (const KnownReplica& replica : CountedReplicas(decision, absl::UnixEpoch())) {
    names.push_back(replica.name);
  }
  const std::set<size_t> want = {absl::HashOf(std::string("n/0")),
                                 absl::HashOf(std::string("n/1"))};
  EXPECT_THAT(names, testing::ElementsAreArray(want));
}

TEST_F(KnownReplicasTest, FirstReplicasReplaceNone) {
  EXPECT_EQ(CountPods({}), 0);
  EXPECT_EQ(CountPods({a1_, b1_}), 0);
}

TEST_F(KnownReplicasTest, StatefulSetKeepsNamesInARollout) {
  EXPECT_EQ(Count({Pod("llm-0", "u1"), Pod("llm-1", "u2")}), 0);
  EXPECT_EQ(Count({Pod("llm-0", "u1"), Pod("llm-1", "u3")}), 1) << "between two steps";
  EXPECT_EQ(Count({Pod("llm-1", "u3")}), 0);
  EXPECT_EQ(Count({Pod("llm-0", "u4"), Pod("llm-1", "u3")}), 1) << "the number was lower before";
  EXPECT_EQ(Count({Pod("llm-0", "u4"), Pod("llm-1", "u3")}), 0);
}

TEST_F(KnownReplicasTest, StatefulSetThatScalesOutReplacesNone) {
  EXPECT_EQ(Count({Pod("llm-0", "u1")}), 0);
  EXPECT_EQ(Count({Pod("llm-0", "u1"), Pod("llm-1", "u2"), Pod("llm-2", "u3")}), 0);
}

TEST_F(KnownReplicasTest, UnknownUidIsNoOtherPod) {
  EXPECT_EQ(Count({Pod("llm-0", "")}), 0);
  EXPECT_EQ(Count({Pod("llm-0", "u1")}), 0);
  EXPECT_EQ(Count({Pod("llm-0", "")}), 0);
  EXPECT_EQ(Count({Pod("llm-0", "u1")}), 0);
  EXPECT_EQ(Count({Pod("llm-0", "")}), 0);
  EXPECT_EQ(Count({Pod("llm-0", "u2")}), 1) << "the last known UID counts";
}

TEST_F(KnownReplicasTest, RecreateReplacesAcrossZero) {
  EXPECT_EQ(CountPods({a1_}), 0);
  EXPECT_EQ(CountPods({}), 0);
  Wait(absl::Minutes(5));
  EXPECT_EQ(CountPods({}), 0);
  EXPECT_EQ(CountPods({b1_}), 1);
  EXPECT_EQ(CountPods({b1_, b2_}), 0) << "a scale-out after it";
}

TEST_F(KnownReplicasTest, ReplicaThatEndedLongAgoIsNotReplaced) {
  EXPECT_EQ(CountPods({a1_}), 0);
  EXPECT_EQ(CountPods({}), 0);
  Wait(KnownReplicas::kKept);
  EXPECT_EQ(CountPods({}), 0);
  EXPECT_EQ(CountPods({b1_}), 0);
}

TEST_F(KnownReplicasTest, ToZeroAndBackIsNoRollout) {
  EXPECT_EQ(CountPods({a1_}), 0);
  EXPECT_EQ(CountPods({}), 0);
  EXPECT_EQ(CountPods({a2_}), 0);
}

TEST_F(KnownReplicasTest, SurgeReplacesEachReplicaOnce) {
  std::vector<int> replaced;
  for (const std::vector<std::string>& names : std::vector<std::vector<std::string>>{
           {a1_, a2_, a3_, a4_},
           {a1_, a2_, a3_, a4_, b1_},
           {a1_, a2_, a3_, b1_},
           {a1_, a2_, a3_, b1_, b2_},
           {a1_, a2_, b1_, b2_, b3_},
           {a1_, b1_, b2_, b3_},
           {b1_, b2_, b3_, b4_},
           {b1_, b2_, b3_, b4_, b5_},  // a scale-out after it
       }) {
    replaced.push_back(CountPods(names));
  }
  EXPECT_THAT(replaced, ElementsAre(0, 1, 0, 1, 1, 0, 1, 0));
}

// maxSurge 0 and maxUnavailable 1: no GPU is free for a fourth pod.
TEST_F(KnownReplicasTest, RolloutWithoutSurgeReplacesEachReplicaOnce) {
  std::vector<int> replaced;
  for (const std::vector<std::string>& names : std::vector<std::vector<std::string>>{
           {a1_, a2_, a3_},
           {a1_, a2_},
           {a1_, a2_, b1_},
           {a1_, b1_},
           {a1_, b1_, b2_},
           {b1_, b2_},
           {b1_, b2_, b3_},
           {b1_, b2_, b3_, b4_},  // a scale-out after it
       }) {
    replaced.push_back(CountPods(names));
  }
  EXPECT_THAT(replaced, ElementsAre(0, 0, 1, 0, 1, 0, 1, 0));
}

// Each of its replicas takes longer to start than kKept.
TEST_F(KnownReplicasTest, SlowRolloutReplacesEachReplicaOnce) {
  int replaced = 0;
  for (const std::vector<std::string>& names : std::vector<std::vector<std::string>>{
           {a1_, a2_, a3_},
           {a1_, a2_, a3_, b1_},
           {a1_, a2_, b1_},
           {a1_, a2_, b1_, b2_},
           {a1_, b1_, b2_},
           {a1_, b1_, b2_, b3_},
           {b1_, b2_, b3_},
       }) {
    replaced += CountPods(names);
    Wait(KnownReplicas::kKept);
    replaced += CountPods(names);
  }
  EXPECT_EQ(replaced, 3);
}

TEST_F(KnownReplicasTest, RollbackReplacesToo) {
  EXPECT_EQ(CountPods({a1_}), 0);
  EXPECT_EQ(CountPods({a1_, b1_}), 1);
  EXPECT_EQ(CountPods({b1_}), 0);
  EXPECT_EQ(CountPods({b1_, a2_}), 1);
  EXPECT_EQ(CountPods({a2_}), 0);
}

TEST_F(KnownReplicasTest, ScalingOneTemplateInAndOutReplacesNone) {
  EXPECT_EQ(CountPods({a1_, a2_, a3_, a4_}), 0);
  EXPECT_EQ(CountPods({a1_, a2_, a3_}), 0);
  EXPECT_EQ(CountPods({a1_, a2_, a3_, PodOf("6d4cf56db6", "m")}), 0);
}

TEST_F(KnownReplicasTest, ScaleOutReplacesNone) {
  EXPECT_EQ(CountPods({a1_}), 0);
  EXPECT_EQ(CountPods({a1_, a2_, a3_, a4_}), 0);
}

// As podRegex may select.
TEST_F(KnownReplicasTest, ScaleOutOfOneOfTwoDeploymentsReplacesNone) {
  EXPECT_EQ(CountPods({a1_, b1_}), 0);
  EXPECT_EQ(CountPods({a1_, b1_, b2_}), 0);
  EXPECT_EQ(CountPods({a1_, a2_, b1_, b2_}), 0);
}

TEST_F(KnownReplicasTest, ReplicaThatWasNotCountedForAWhileReplacesNone) {
  EXPECT_EQ(CountPods({a1_, a2_}), 0);
  EXPECT_EQ(CountPods({a1_}), 0);
  EXPECT_EQ(CountPods({a2_}), 0) << "their number is the same, and both are known";
}

TEST_F(KnownReplicasTest, NewNameReplacesIfTheNumberIsTheSame) {
  EXPECT_EQ(CountPods({a1_, a2_}), 0);
  EXPECT_EQ(CountPods({a1_, a3_}), 1) << "as after a drain";
  EXPECT_EQ(Count({{.name = "n/0"}, {.name = "n/1"}}), 2) << "without pods";
}

// No decision was OK in that time.
TEST_F(KnownReplicasTest, ReplicasOfTheLastDecisionStayKnown) {
  EXPECT_EQ(CountPods({a1_, a2_}), 0);
  Wait(2 * KnownReplicas::kKept);
  EXPECT_EQ(CountPods({a1_, a2_}), 0);
}

}  // namespace
}  // namespace gpuscaler
