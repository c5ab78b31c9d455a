// The time since which the kubelet lists a pod, through restarts of the pod and the kubelet.
#include <algorithm>

#include "gtest/gtest.h"
#include "workload/owner_listings.h"
#include "workload/test_attributed_node.h"

namespace gpuscaler {
namespace {

// A pod that does not become Ready, on a node where others come and go.
class ListedSinceTest : public AttributedNode {
 protected:
  ListedSinceTest() { kubelet_.ServePodsApi(true); }

  static FakeKubelet::Pod Web(const std::string& uid) {
    return {.devices = {"shop", "web-0", {Gpu("GPU-sim-0")}},
            .of_api = {.uid = uid, .ready = false}};
  }
  static FakeKubelet::Pod Other(const std::string& name) {
    return {.devices = {"shop", name, {Gpu("GPU-sim-1")}}, .of_api = {.uid = name}};
  }

  // The pod's Deployment is web, and its ReplicaSet has that hash.
  FakeKubelet::Pod OfDeployment(const std::string& hash, const std::string& uid) const {
    const std::string replica_set = absl::StrCat("web-", hash);
    return {.devices = {"shop", absl::StrCat(replica_set, "-x7k2p"), {Gpu("GPU-sim-0")}},
            .of_api = {.uid = uid,
                       .labels = {{"pod-template-hash", hash}},
                       .owner_references = {{.kind = "ReplicaSet",
                                             .name = replica_set,
                                             .is_controller = true}},
                       .known_since = absl::FromUnixSeconds(absl::ToUnixSeconds(clock_.Now()))}};
  }

  // Empty: unknown.
  std::optional<Pod> OnFirstGpu() {
    const NodeSnapshot snapshot = Read();
    if (snapshot.gpus[0].holders.empty()) return std::nullopt;
    return snapshot.pods[static_cast<size_t>(snapshot.gpus[0].holders[0].pod)];
  }
  std::optional<absl::Time> ListedSince() {
    const std::optional<Pod> pod = OnFirstGpu();
    return pod ? pod->listed_since : std::nullopt;
  }
  std::optional<absl::Time> OwnerListedSince() {
    const std::optional<Pod> pod = OnFirstGpu();
    return pod ? pod->owner_listed_since : std::nullopt;
  }
};

TEST_F(ListedSinceTest, IsTheFirstListingThroughRestartsAndChangesOfOthers) {
  Query();
  kubelet_.SetPods({Web(kUid0)});
  Query();
  const absl::Time since = clock_.Now();
  for (int i = 0; i < 10; ++i) {
    processes_["GPU-sim-0"] =
        i % 2 == 0 ? std::vector<GpuProcess>{{.pid = 100 + i}} : std::vector<GpuProcess>{};
    kubelet_.SetPods({Other(absl::StrCat("job-", i)), Web(kUid0)});
    clock_.Advance(absl::Minutes(10));
    Query();
    EXPECT_EQ(ListedSince(), since) << i;
  }
}

TEST_F(ListedSinceTest, IsKeptWhileTheKubeletDoesNotAnswer) {
  kubelet_.SetPods({Web(kUid0)});
  Query();
  const absl::Time since = clock_.Now();
  kubelet_.Stop();
  for (int i = 0; i < 20; ++i) Query();
  EXPECT_EQ(ListedSince(), std::nullopt) << "its holder is unknown";
  kubelet_.Start();
  Query();
  EXPECT_EQ(ListedSince(), since);
}

TEST_F(ListedSinceTest, IsTheFirstAnswerAfterAnOutage) {
  kubelet_.SetPods({Other("job-0")});
  Query();
  kubelet_.Stop();
  for (int i = 0; i < 20; ++i) Query();
  kubelet_.SetPods({Other("job-0"), Web(kUid0)});
  kubelet_.Start();
  Query();
  const absl::Time since = clock_.Now();
  EXPECT_EQ(ListedSince(), since);
  Query();
  EXPECT_EQ(ListedSince(), since);
}

TEST_F(ListedSinceTest, IsTheKubeletsTimeAlsoForARestartedAgent) {
  FakeKubelet::Pod web = Web(kUid0);
  web.of_api.known_since =
      absl::FromUnixSeconds(absl::ToUnixSeconds(clock_.Now())) - absl::Hours(1);
  kubelet_.SetPods({web});
  Query();
  EXPECT_EQ(ListedSince(), web.of_api.known_since);
}

TEST_F(ListedSinceTest, WasReadyIsKept) {
  const auto was_ready = [this] { return Read().pods.get().at(0).was_ready; };
  FakeKubelet::Pod web = Web(kUid0);
  kubelet_.SetPods({web});
  Query();
  EXPECT_FALSE(was_ready());
  web.of_api.ready = true;
  kubelet_.SetPods({web});
  Query();
  EXPECT_TRUE(was_ready());
  web.of_api.ready = false;
  kubelet_.SetPods({web});
  Query();
  EXPECT_TRUE(was_ready());
  kubelet_.SetPods({Web(kUid1)});
  Query();
  EXPECT_FALSE(was_ready()) << "another one of that name";
}

TEST_F(ListedSinceTest, IsNewForTheNextPodOfTheSameName) {
  kubelet_.SetPods({Web(kUid0)});
  Query();
  kubelet_.SetPods({Web(kUid1)});
  Query();
  EXPECT_EQ(ListedSince(), clock_.Now()) << "another UID";
  kubelet_.SetPods({Other("job-0")});
  Query();
  kubelet_.SetPods({Other("job-0"), Web(kUid1)});
  Query();
  EXPECT_EQ(ListedSince(), clock_.Now()) << "it was gone in between";
}

TEST_F(ListedSinceTest, IsKeptWhileThePodsApiIsAway) {
  kubelet_.SetPods({Web(kUid0)});
  Query();
  const absl::Time since = clock_.Now();
  kubelet_.ServePodsApi(false);
  for (int i = 0; i < 20; ++i) Query();
  EXPECT_EQ(Read().pods[0].uid, "");
  EXPECT_EQ(ListedSince(), since);
  kubelet_.ServePodsApi(true);
  Query();
  EXPECT_EQ(Read().pods[0].uid, kUid0);
  EXPECT_EQ(ListedSince(), since);
  kubelet_.ServePodsApi(false);
  for (int i = 0; i < 20; ++i) Query();
  kubelet_.SetPods({Web(kUid1)});
  kubelet_.ServePodsApi(true);
  Query();
  EXPECT_EQ(ListedSince(), clock_.Now()) << "another one";
}

TEST_F(ListedSinceTest, OwnersTimeOutlivesARolloutAndARestartOfTheKubelet) {
  const FakeKubelet::Pod first = OfDeployment("6d4cf56db6", kUid0);
  kubelet_.SetPods({first});
  Query();
  EXPECT_EQ(OwnerListedSince(), first.of_api.known_since);
  clock_.Advance(absl::Hours(1));
  kubelet_.SetPods({OfDeployment("7d4cf56db7", kUid1)});
  Query();
  EXPECT_GT(ListedSince(), first.of_api.known_since) << "it is another pod";
  EXPECT_EQ(OwnerListedSince(), first.of_api.known_since);
  kubelet_.Stop();
  for (int i = 0; i < 200; ++i) Query();
  kubelet_.Start();
  kubelet_.SetPods({OfDeployment("8d4cf56db8", kUid0)});
  Query();
  EXPECT_EQ(OwnerListedSince(), first.of_api.known_since);
}

TEST_F(ListedSinceTest, OwnersTimeOutlivesARolloutWithoutThePodsApi) {
  kubelet_.ServePodsApi(false);
  kubelet_.SetPods({OfDeployment("6d4cf56db6", kUid0)});
  Query();
  const absl::Time since = clock_.Now();
  clock_.Advance(absl::Hours(1));
  kubelet_.SetPods({OfDeployment("7d4cf56db7", kUid1)});
  Query();
  EXPECT_EQ(ListedSince(), clock_.Now());
  EXPECT_EQ(OwnerListedSince(), since);
}

TEST_F(ListedSinceTest, OwnersTimeEndsWithTheGrace) {
  kubelet_.SetPods({OfDeployment("6d4cf56db6", kUid0)});
  Query();
  kubelet_.SetPods({Other("job-0")});
  Query();
  clock_.Advance(kOwnerGrace);
  const FakeKubelet::Pod next = OfDeployment("7d4cf56db7", kUid1);
  kubelet_.SetPods({Other("job-0"), next});
  Query();
  EXPECT_EQ(OwnerListedSince(), next.of_api.known_since);
}

TEST_F(ListedSinceTest, OwnersTimeAfterARestartOfTheAgentIsThatOfItsOldestPod) {
  const FakeKubelet::Pod first = OfDeployment("6d4cf56db6", kUid0);
  clock_.Advance(absl::Hours(1));
  FakeKubelet::Pod second = OfDeployment("6d4cf56db6", kUid1);
  second.devices = {"shop", "web-6d4cf56db6-b5fgh", {Gpu("GPU-sim-1")}};
  kubelet_.SetPods({second, first});
  Query();
  EXPECT_EQ(OwnerListedSince(), first.of_api.known_since);
  const NodeSnapshot snapshot = Read();
  for (const Pod& pod : snapshot.pods) EXPECT_EQ(pod.owner_listed_since, first.of_api.known_since);
}

// Without the Pods API a restarted agent lists all pods as of its restart.
TEST_F(ListedSinceTest, OwnersTimeFromBeforeARestartOfTheAgentCountsBesideANewerOwner) {
  kubelet_.ServePodsApi(false);
  kubelet_.SetPods({OfDeployment("6d4cf56db6", kUid0), Other("note-x7k2p")});
  Query();
  const absl::Time restarted = clock_.Now();
  EXPECT_EQ(OwnerListedSince(), restarted);
  Pod before = *OnFirstGpu();
  before.owner_listed_since = restarted - absl::Hours(1);
  attribution_.AddFormerPods({before});
  Query();
  EXPECT_EQ(OwnerListedSince(), restarted - absl::Hours(1));
  const NodeSnapshot snapshot = Read();
  EXPECT_EQ(std::ranges::find(snapshot.pods, "note-x7k2p", &Pod::name)->owner_listed_since,
            restarted);
}

}  // namespace
}  // namespace gpuscaler
