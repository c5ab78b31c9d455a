#include "fleet/pod_index.h"

#include <map>

#include "fleet/test_readings.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

const absl::Time kIndexStart = absl::FromUnixSeconds(1'767'225'600);

PodInterest AnyOwner(const std::vector<std::string>& namespaces) {
  return {.namespaces = namespaces};
}
PodInterest OfOwner(const std::string& owner) { return {.namespaces = {"a"}, .owner = owner}; }
PodInterest LikeScaledObject(const std::string& name) {
  return {.namespaces = {"a"}, .owner = name, .or_any_owner = true};
}

NodeSnapshot WithPods(std::vector<Pod> pods, int seconds = 0) {
  NodeSnapshot snapshot = SnapshotOf(1, kIndexStart + absl::Seconds(seconds));
  snapshot.attribution.state = Attribution::State::kKnown;
  snapshot.pods = std::move(pods);
  return snapshot;
}

Pod PodByName(const std::vector<std::string>& owners) {
  Pod pod{.namespace_name = "a", .name = "pod-x"};
  for (const std::string& owner : owners) pod.owners.push_back({.kind = "Kind", .name = owner});
  return pod;
}

// One pod without an owner in each namespace.
NodeSnapshot With(const std::vector<std::string>& namespaces, int seconds = 0) {
  std::vector<Pod> pods;
  for (const std::string& name : namespaces) {
    pods.push_back(
        {.namespace_name = name, .name = "pod", .owners_from = Pod::OwnersFrom::kReferences});
  }
  return WithPods(std::move(pods), seconds);
}

class PodIndexTest : public testing::Test {
 protected:
  // Adds the node's next readings in one update.
  void Changed(const std::string& node, const std::vector<NodeSnapshot>& snapshots,
               int64_t generation) {
    for (const NodeSnapshot& snapshot : snapshots) histories_[node].Append(snapshot, limits_);
    index_.Changed(node, histories_[node], generation);
  }
  // Extends the newest reading, once a second.
  void Unchanged(const std::string& node, int until_seconds, int64_t generation) {
    NodeHistory& history = histories_[node];
    while (history.NewestAt() < kIndexStart + absl::Seconds(until_seconds)) {
      history.Extend(history.NewestAt() + absl::Seconds(1), limits_);
    }
    index_.Changed(node, history, generation);
  }

  NodeHistory::Limits limits_{.horizon = absl::Minutes(15), .join_within = absl::Seconds(5)};
  std::map<std::string, NodeHistory> histories_;
  PodIndex index_{limits_.horizon};
};

TEST_F(PodIndexTest, NamespaceSeesTheNodesOfItsPodsOnly) {
  Changed("gpu-1", {With({"a", "b"})}, 1);
  Changed("gpu-2", {With({"b"})}, 2);
  EXPECT_THAT(index_.NodesOf(AnyOwner({"a"})).names, ElementsAre("gpu-1"));
  EXPECT_THAT(index_.NodesOf(AnyOwner({"b"})).names, ElementsAre("gpu-1", "gpu-2"));
  EXPECT_THAT(index_.NodesOf(AnyOwner({"c"})).names, IsEmpty());
  EXPECT_THAT(index_.NodesOf(AnyOwner({"c", "a"})).names, ElementsAre("gpu-1"))
      << "a trigger across namespaces";
}

TEST_F(PodIndexTest, OtherNamespacesChangeNothing) {
  Changed("gpu-1", {With({"a"})}, 1);
  Changed("gpu-2", {With({"b"})}, 2);
  EXPECT_EQ(index_.NodesOf(AnyOwner({"a"})).generation, 1);
  Changed("gpu-1", {With({"a"}, 1)}, 3);
  EXPECT_EQ(index_.NodesOf(AnyOwner({"a"})).generation, 3);
  EXPECT_EQ(index_.NodesOf(AnyOwner({"b"})).generation, 2);
}

TEST_F(PodIndexTest, ReturnsThePodsOnNodesChangedSince) {
  Changed("gpu-1", {With({"a", "b"})}, 1);
  Changed("gpu-2", {With({"c"})}, 2);
  Changed("gpu-1", {With({"b"}, 1)}, 3);
  EXPECT_THAT(index_.ChangedSince(0),
              UnorderedElementsAre(OwnerKey{"a", ""}, OwnerKey{"a", "pod"}, OwnerKey{"b", ""},
                                   OwnerKey{"b", "pod"}, OwnerKey{"c", ""}, OwnerKey{"c", "pod"}));
  EXPECT_THAT(index_.ChangedSince(2), UnorderedElementsAre(OwnerKey{"a", ""}, OwnerKey{"a", "pod"},
                                                           OwnerKey{"b", ""}, OwnerKey{"b", "pod"}))
      << "the node is still within the horizon of a";
  EXPECT_THAT(index_.ChangedSince(3), IsEmpty());
  index_.Removed("gpu-2", 4);
  EXPECT_THAT(index_.ChangedSince(3),
              UnorderedElementsAre(OwnerKey{"c", ""}, OwnerKey{"c", "pod"}));
  EXPECT_FALSE(index_.AllChangedSince(1)) << "only the first use of a kubelet concerns all";
}

TEST_F(PodIndexTest, NodeStaysForTheHorizonAfterItsLastPod) {
  Changed("gpu-1", {With({"a"}, 0)}, 1);
  Changed("gpu-1", {With({}, 1), With({}, 901)}, 2);
  EXPECT_THAT(index_.NodesOf(AnyOwner({"a"})).names, ElementsAre("gpu-1"));
  Changed("gpu-1", {With({}, 902)}, 3);
  EXPECT_THAT(index_.NodesOf(AnyOwner({"a"})).names, IsEmpty());
  EXPECT_EQ(index_.NodesOf(AnyOwner({"a"})).generation, 3) << "the removal is a change";
}

TEST_F(PodIndexTest, PodThatLeftWithinOneUpdateIsIndexed) {
  Changed("gpu-1", {With({"a"}, 0), With({"b"}, 100), With({}, 200)}, 1);
  EXPECT_THAT(index_.NodesOf(AnyOwner({"a"})).names, ElementsAre("gpu-1"));
  EXPECT_THAT(index_.NodesOf(AnyOwner({"b"})).names, ElementsAre("gpu-1"));
  Changed("gpu-1", {With({}, 1050)}, 2);
  EXPECT_THAT(index_.NodesOf(AnyOwner({"a"})).names, IsEmpty());
  EXPECT_THAT(index_.NodesOf(AnyOwner({"b"})).names, ElementsAre("gpu-1"));
}

TEST_F(PodIndexTest, PodThatLeftBeforeTheKeptReadingsIsIndexed) {
  limits_.readings = absl::Minutes(2);
  Changed("gpu-1", {With({"a"}, 0), With({}, 1), With({}, 300), With({}, 600)}, 1);
  ASSERT_FALSE(histories_["gpu-1"].past_layouts.empty());
  EXPECT_THAT(index_.NodesOf(AnyOwner({"a"})).names, ElementsAre("gpu-1"));
}

TEST_F(PodIndexTest, PodOfALongRunIsPresentUntilItsEnd) {
  Changed("gpu-1", {With({"a"}, 0)}, 1);
  Unchanged("gpu-1", 3600, 2);
  Changed("gpu-1", {With({}, 3601)}, 3);
  EXPECT_THAT(index_.NodesOf(AnyOwner({"a"})).names, ElementsAre("gpu-1"))
      << "it was there a second ago";
  Unchanged("gpu-1", 4501, 4);
  EXPECT_THAT(index_.NodesOf(AnyOwner({"a"})).names, ElementsAre("gpu-1"));
  Unchanged("gpu-1", 4502, 5);
  EXPECT_THAT(index_.NodesOf(AnyOwner({"a"})).names, IsEmpty());
}

TEST_F(PodIndexTest, PodIsPresentUntilTheNextLayout) {
  Changed("gpu-1", {With({"a"}, 0)}, 1);
  NodeHistory& history = histories_["gpu-1"];
  for (int second = 1; second <= 600; ++second) {
    history.Extend(kIndexStart + absl::Seconds(second), limits_);
  }
  Changed("gpu-1", {With({}, 601), With({}, 1500)}, 2);
  EXPECT_THAT(index_.NodesOf(AnyOwner({"a"})).names, ElementsAre("gpu-1"));
}

TEST_F(PodIndexTest, UnattributedNodeIsInEveryResult) {
  NodeSnapshot unknown = With({"a"});
  unknown.attribution.state = Attribution::State::kUnknown;
  Changed("gpu-1", {unknown}, 1);
  EXPECT_THAT(index_.NodesOf(AnyOwner({"b"})).names, ElementsAre("gpu-1"));
  Changed("gpu-1", {With({"a"}, 1)}, 2);
  EXPECT_THAT(index_.NodesOf(AnyOwner({"b"})).names, IsEmpty());
  EXPECT_EQ(index_.NodesOf(AnyOwner({"b"})).generation, 2);
}

TEST_F(PodIndexTest, ReadingsOfAnUnattributedNodeAreNoChange) {
  Changed("gpu-1", {With({"a"})}, 1);
  NodeSnapshot unknown = SnapshotOf(1, kIndexStart);
  unknown.attribution = {.state = Attribution::State::kUnknown, .why = "no answer"};
  Changed("gpu-2", {unknown}, 2);
  for (int second = 1; second <= 3; ++second) {
    unknown.taken_at += absl::Seconds(1);
    unknown.gpus[0].utilization_percent = 10 * second;
    Changed("gpu-2", {unknown}, 2 + second);
  }
  EXPECT_EQ(index_.NodesOf(AnyOwner({"a"})).generation, 2);
  EXPECT_FALSE(index_.AllChangedSince(2));
  unknown.taken_at += absl::Seconds(1);
  unknown.attribution.why = "permission denied";
  Changed("gpu-2", {unknown}, 6);
  EXPECT_EQ(index_.NodesOf(AnyOwner({"a"})).generation, 6) << "the reason has changed";
}

TEST_F(PodIndexTest, WithoutKubeletsEachReadingIsAChangeForAll) {
  NodeSnapshot unowned = SnapshotOf(1, kIndexStart);
  Changed("gpu-1", {unowned}, 1);
  unowned.taken_at += absl::Seconds(1);
  Changed("gpu-1", {unowned}, 2);
  EXPECT_EQ(index_.NodesOf(AnyOwner({"a"})).generation, 2);
}

TEST_F(PodIndexTest, RemovedNodeIsAChangeForItsNamespaces) {
  Changed("gpu-1", {With({"a"})}, 1);
  index_.Removed("gpu-1", 2);
  EXPECT_THAT(index_.NodesOf(AnyOwner({"a"})).names, IsEmpty());
  EXPECT_EQ(index_.NodesOf(AnyOwner({"a"})).generation, 2);
}

TEST_F(PodIndexTest, OwnerSeesTheNodesOfItsPodsOnly) {
  Changed("gpu-1", {WithPods({PodByName({"llm"}), PodByName({"chat"})})}, 1);
  Changed("gpu-2", {WithPods({PodByName({"chat"})})}, 2);
  Changed("gpu-3", {With({"b"})}, 3);
  EXPECT_THAT(index_.NodesOf(OfOwner("llm")).names, ElementsAre("gpu-1"));
  EXPECT_THAT(index_.NodesOf(OfOwner("chat")).names, ElementsAre("gpu-1", "gpu-2"));
  EXPECT_THAT(index_.NodesOf(OfOwner("none")).names, IsEmpty());
  Changed("gpu-2", {WithPods({PodByName({"chat"})}, 1)}, 4);
  EXPECT_EQ(index_.NodesOf(OfOwner("llm")).generation, 1);
  EXPECT_EQ(index_.NodesOf(OfOwner("chat")).generation, 4);
}

TEST_F(PodIndexTest, PodIsFoundByEachNameThatItsOwnerMayHave) {
  Changed("gpu-1", {WithPods({PodByName({"llm-0", "llm", "llm"})})}, 1);
  for (const char* name : {"llm-0", "llm"}) {
    EXPECT_THAT(index_.NodesOf(OfOwner(name)).names, ElementsAre("gpu-1")) << name;
  }
  EXPECT_THAT(
      index_.ChangedSince(0),
      UnorderedElementsAre(OwnerKey{"a", ""}, OwnerKey{"a", "llm-0"}, OwnerKey{"a", "llm"}));
}

// A ReplicaSet without a label for its owner, and a pod with a name of no known form.
TEST_F(PodIndexTest, OwnerSeesTheNodesOfPodsThatMayBeItsOwn) {
  Pod of_replica_set = PodByName({"llm-6d4cf56db6"});
  of_replica_set.owners[0].kind = "ReplicaSet";
  of_replica_set.owners_from = Pod::OwnersFrom::kReferences;
  Changed("gpu-1", {WithPods({of_replica_set})}, 1);
  Changed("gpu-2", {WithPods({PodByName({})})}, 2);
  Changed("gpu-3", {WithPods({PodByName({"chat"})})}, 3);
  EXPECT_THAT(index_.NodesOf(OfOwner("llm")).names, ElementsAre("gpu-1", "gpu-2"));
  EXPECT_EQ(index_.NodesOf(OfOwner("llm")).generation, 2);
  EXPECT_THAT(index_.NodesOf(OfOwner("chat")).names, ElementsAre("gpu-1", "gpu-2", "gpu-3"));
  Changed("gpu-1", {WithPods({of_replica_set}, 1)}, 4);
  EXPECT_EQ(index_.NodesOf(OfOwner("llm")).generation, 4);
  EXPECT_THAT(index_.ChangedSince(3),
              UnorderedElementsAre(OwnerKey{"a", ""}, OwnerKey{"a", kUnresolvedOwner},
                                   OwnerKey{"a", "llm-6d4cf56db6"}));
}

TEST_F(PodIndexTest, OwnerNamedLikeTheScaledObjectIsEnoughOnceKnown) {
  Changed("gpu-1", {WithPods({PodByName({"chat"})})}, 1);
  EXPECT_THAT(index_.NodesOf(LikeScaledObject("llm")).names, ElementsAre("gpu-1"))
      << "the only owner";
  EXPECT_FALSE(index_.IsOwnerKnown(LikeScaledObject("llm")));
  Changed("gpu-2", {WithPods({PodByName({"llm"})})}, 2);
  EXPECT_THAT(index_.NodesOf(LikeScaledObject("llm")).names, ElementsAre("gpu-2"));
  EXPECT_TRUE(index_.IsOwnerKnown(LikeScaledObject("llm")));
  Changed("gpu-1", {WithPods({PodByName({"chat"})}, 1)}, 3);
  EXPECT_EQ(index_.NodesOf(LikeScaledObject("llm")).generation, 2);
}

TEST_F(PodIndexTest, AmbiguousPodIsNotEnoughForTheOnlyOwnerRule) {
  Changed("gpu-1", {WithPods({PodByName({"chat"})})}, 1);
  Changed("gpu-2", {WithPods({PodByName({"llm-0", "llm"})})}, 2);
  EXPECT_THAT(index_.NodesOf(LikeScaledObject("llm")).names, ElementsAre("gpu-1", "gpu-2"));
  EXPECT_THAT(index_.NodesOf(OfOwner("llm")).names, ElementsAre("gpu-2"));
  Changed("gpu-2", {WithPods({PodByName({"llm"})}, 1)}, 3);
  EXPECT_FALSE(index_.IsOwnerKnown(LikeScaledObject("llm"))) << "it is still within the horizon";
  Changed("gpu-2", {WithPods({PodByName({"llm"})}, 902)}, 4);
  EXPECT_TRUE(index_.IsOwnerKnown(LikeScaledObject("llm")));
  EXPECT_EQ(index_.NodesOf(LikeScaledObject("llm")).generation, 4) << "never lower than before";
}

TEST_F(PodIndexTest, LastKnownOwnersCountWhileUnattributed) {
  NodeSnapshot unknown = WithPods({}, 1);
  unknown.attribution.state = Attribution::State::kUnknown;
  Changed("gpu-1", {WithPods({PodByName({"llm"})}), unknown}, 1);
  Unchanged("gpu-1", 3600, 2);
  EXPECT_TRUE(index_.IsOwnerKnown(LikeScaledObject("llm")));
  Changed("gpu-1", {WithPods({}, 3601)}, 3);
  EXPECT_FALSE(index_.IsOwnerKnown(LikeScaledObject("llm")))
      << "the time of its removal is not known";
}

TEST_F(PodIndexTest, NodeIsDueWhenItsHistoryForgetsAPod) {
  Changed("gpu-1", {With({"a"}, 0), With({"b"}, 1)}, 1);
  NodeHistory& history = histories_["gpu-1"];
  for (int second = 2; second <= 901; ++second) {
    history.Extend(kIndexStart + absl::Seconds(second), limits_);
    ASSERT_FALSE(index_.IsDue("gpu-1", history)) << second;
  }
  history.Extend(kIndexStart + absl::Seconds(902), limits_);
  EXPECT_TRUE(index_.IsDue("gpu-1", history));
  EXPECT_TRUE(history.past_layouts.empty());
  index_.Changed("gpu-1", history, 2);
  EXPECT_THAT(index_.NodesOf(AnyOwner({"a"})).names, IsEmpty());
  EXPECT_FALSE(index_.IsDue("gpu-1", history));
}

TEST_F(PodIndexTest, ReplayedHistoryReplacesThePresences) {
  Changed("gpu-1", {With({"a"}, 0), With({"b"}, 10), With({"c"}, 20)}, 1);
  histories_["gpu-1"] = {};
  Changed("gpu-1", {With({"b"}, 10), With({"c"}, 21)}, 2);
  EXPECT_THAT(index_.NodesOf(AnyOwner({"a"})).names, IsEmpty());
  EXPECT_EQ(index_.NodesOf(AnyOwner({"a"})).generation, 2);
  for (const char* name : {"b", "c"}) {
    EXPECT_THAT(index_.NodesOf(AnyOwner({name})).names, ElementsAre("gpu-1")) << name;
  }
}

TEST_F(PodIndexTest, EvictionOfUnusedNamesIsAChange) {
  constexpr int kJobs = 3000;
  const auto run_job = [&](int64_t job) {
    histories_.erase("gpu-1");
    Changed("gpu-1", {WithPods({PodByName({absl::StrCat("job-", job)})})}, 2 * job);
    index_.Removed("gpu-1", 2 * job + 1);
  };
  Changed("gpu-2", {With({"b"})}, 1);
  run_job(1);
  EXPECT_FALSE(index_.AllChangedSince(3));
  const int64_t left_at = index_.NodesOf(OfOwner("job-1")).generation;
  for (int job = 2; job <= kJobs; ++job) run_job(job);
  EXPECT_LT(index_.ChangedSince(0).size(), 1500u);
  EXPECT_TRUE(index_.AllChangedSince(3)) << "a reader of that long ago has missed some";
  EXPECT_FALSE(index_.AllChangedSince(2 * kJobs - 500));
  EXPECT_GE(index_.NodesOf(OfOwner("job-1")).generation, left_at);
  EXPECT_GE(index_.NodesOf(OfOwner("never-seen")).generation, left_at);
}

TEST_F(PodIndexTest, NodeMayHaveMoreNamesThanTheUnusedLimit) {
  const auto jobs = [](int from, int count) {
    std::vector<Pod> pods;
    for (int job = from; job < from + count; ++job) {
      pods.push_back(PodByName({absl::StrCat("job-", job)}));
    }
    return pods;
  };
  Changed("gpu-1", {WithPods(jobs(0, 3000))}, 1);
  Changed("gpu-1", {WithPods(jobs(0, 1), 1), WithPods(jobs(0, 1), 902)}, 2);
  EXPECT_THAT(index_.NodesOf(OfOwner("job-0")).names, ElementsAre("gpu-1"));
  EXPECT_THAT(index_.NodesOf(OfOwner("job-1")).names, IsEmpty());
  EXPECT_EQ(index_.NodesOf(OfOwner("job-1")).generation, 2);
  // The first that left comes back while others leave.
  Changed("gpu-1", {WithPods(jobs(2001, 999), 903), WithPods({}, 904), WithPods({}, 1806)}, 3);
  Changed("gpu-1", {WithPods(jobs(2001, 1), 1807)}, 4);
  EXPECT_THAT(index_.NodesOf(OfOwner("job-2001")).names, ElementsAre("gpu-1"));
  EXPECT_THAT(index_.NodesOf(AnyOwner({"a"})).names, ElementsAre("gpu-1"));
}

// A scan of all names for each of them would take 3e9 steps: minutes.
TEST_F(PodIndexTest, NodeMayHaveAsManyNamesAsPodsMayHaveOwners) {
  const auto many = [](int seconds) {
    std::vector<Pod> pods;
    for (int pod = 0; pod < 4096; ++pod) {
      std::vector<std::string> owners;
      for (int owner = 0; owner < 20; ++owner) owners.push_back(absl::StrCat(pod, "-", owner));
      pods.push_back(PodByName(owners));
    }
    return WithPods(std::move(pods), seconds);
  };
  NodeSnapshot unknown = many(1);
  unknown.attribution = {.state = Attribution::State::kUnknown,
                         .why = "the kubelet does not answer"};
  Changed("gpu-1", {many(0), unknown}, 1);
  EXPECT_THAT(index_.NodesOf(OfOwner("4095-19")).names, ElementsAre("gpu-1"));
}

TEST_F(PodIndexTest, FirstAndLastKubeletUserAreAChangeForAll) {
  const auto with_state = [](Attribution::State state, int seconds) {
    NodeSnapshot snapshot = WithPods({}, seconds);
    snapshot.attribution.state = state;
    return snapshot;
  };
  Changed("gpu-1", {with_state(Attribution::State::kNone, 0)}, 1);
  EXPECT_FALSE(index_.AnyUsesKubelet());
  Changed("gpu-2", {with_state(Attribution::State::kKnown, 0)}, 2);
  EXPECT_TRUE(index_.AnyUsesKubelet());
  EXPECT_EQ(index_.NodesOf(OfOwner("llm")).generation, 2);
  Changed("gpu-2", {with_state(Attribution::State::kUnknown, 1)}, 3);
  EXPECT_TRUE(index_.AnyUsesKubelet()) << "though it does not answer";
  index_.Removed("gpu-2", 4);
  EXPECT_FALSE(index_.AnyUsesKubelet());
  EXPECT_TRUE(index_.AllChangedSince(3));
}

}  // namespace
}  // namespace gpuscaler
