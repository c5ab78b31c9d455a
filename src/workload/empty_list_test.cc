// When a kubelet's list that lacks pods is believed.
#include <algorithm>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "workload/test_attributed_node.h"

namespace gpuscaler {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

class EmptyListTest : public AttributedNode {};

// An agent and its kubelet start together, on a node where pods run.
TEST_F(EmptyListTest, FirstEmptyListIsNotAcceptedWhileGpusAreBusy) {
  processes_["GPU-sim-1"] = {{.pid = 100}};
  Query();
  const absl::Time first_observed_at = clock_.Now();
  for (; clock_.Now() - first_observed_at < kEmptyListConfirmation; Query()) {
    const NodeSnapshot snapshot = Read();
    EXPECT_EQ(snapshot.attribution.state, State::kUnknown);
    EXPECT_THAT(snapshot.attribution.why, HasSubstr("which it may not know yet"));
    EXPECT_EQ(log_, "") << "a start is no event";
  }
  EXPECT_EQ(clock_.Now() - first_observed_at, kEmptyListConfirmation);
  EXPECT_EQ(Read().attribution.state, State::kKnown);
  kubelet_.Stop();
  Query();
  EXPECT_EQ(Read().attribution.state, State::kKnown) << "it was believed";
}

TEST_F(EmptyListTest, ListedPodsConfirmAtOnce) {
  processes_["GPU-sim-1"] = {{.pid = 100}};
  Query();
  EXPECT_EQ(Read().attribution.state, State::kUnknown);
  kubelet_.AddPod("shop", "web-0", {Gpu("GPU-sim-1")});
  Query();
  EXPECT_EQ(Read().gpus[1].holders.size(), 1);
  EXPECT_EQ(Read().attribution.state, State::kKnown);
}

TEST_F(EmptyListTest, ErrorRestartsTheConfirmation) {
  processes_["GPU-sim-1"] = {{.pid = 100}};
  Query();
  Query();
  kubelet_.Stop();
  Query();
  EXPECT_EQ(Read().attribution.state, State::kUnknown);
  kubelet_.Start();
  Query();
  Query();
  EXPECT_EQ(Read().attribution.state, State::kUnknown);
  Query();
  Query();
  EXPECT_EQ(Read().attribution.state, State::kKnown);
}

TEST_F(EmptyListTest, SyncedPodsApiConfirmsAnEmptyList) {
  kubelet_.ServePodsApi(true);
  kubelet_.AddPod("kube-system", "kube-proxy-x7k2p", {});
  processes_["GPU-sim-1"] = {{.pid = 100}};
  Query();
  EXPECT_EQ(Read().attribution.state, State::kKnown);
}

// The list is from before the restart, the Pods API's answer from after it.
TEST_F(EmptyListTest, PodsStayValidForTheGraceIfThePodsApiBecomesEmpty) {
  kubelet_.ServePodsApi(true);
  kubelet_.SetPods({{.devices = {"shop", "web-x7k2p", {Gpu("GPU-sim-0")}},
                     .of_api = {.owner_references = {{"DaemonSet", "web", true}}, .ready = true}}});
  Query();
  kubelet_.EmptyPodsApi(true);
  Query();
  EXPECT_EQ(Owners(Read()), "DaemonSet/web");
  EXPECT_EQ(Read().pods[0].ready, true);
  clock_.Advance(kAttributionGrace);
  Query();
  EXPECT_EQ(Owners(Read()), "ReplicaSet/web DaemonSet/web Job/web");
}

TEST_F(EmptyListTest, UnsyncedPodsApiIsAwaitedThoughGpusAreIdle) {
  kubelet_.ServePodsApi(true);
  kubelet_.FailPodsApi(absl::FailedPreconditionError("not synced"));
  Query();
  EXPECT_EQ(Read().attribution.state, State::kUnknown);
  kubelet_.FailPodsApi(absl::OkStatus());
  Query();
  EXPECT_EQ(Read().attribution.state, State::kKnown);
}

TEST_F(EmptyListTest, EmptyListIsAcceptedAfterTheConfirmationTime) {
  kubelet_.AddPod("shop", "web-0", {Gpu("GPU-sim-0")});
  Query();
  kubelet_.SetPods({});
  EXPECT_THAT(Query(), HasSubstr("level=info event=kubelet_list_empty owners_kept_seconds=15"));
  const absl::Time first_observed_at = clock_.Now();
  while (clock_.Now() - first_observed_at < kEmptyListConfirmation) {
    const NodeSnapshot snapshot = Read();
    EXPECT_EQ(snapshot.attribution.state, State::kKnown);
    EXPECT_EQ(snapshot.gpus[0].holders.size(), 1);
    EXPECT_EQ(Query(), "") << "logged once, and no error";
  }
  const NodeSnapshot snapshot = Read();
  EXPECT_EQ(clock_.Now() - first_observed_at, kEmptyListConfirmation);
  EXPECT_EQ(snapshot.attribution.state, State::kKnown);
  EXPECT_THAT(snapshot.gpus[0].holders, IsEmpty());
  EXPECT_THAT(snapshot.pods, IsEmpty());
}

TEST_F(EmptyListTest, PodsThatANewKubeletListsLateStayHolders) {
  kubelet_.AddPod("shop", "web-0", {Gpu("GPU-sim-0")});
  Query();
  kubelet_.Stop();
  Query();
  kubelet_.Start();
  kubelet_.SetPods({});
  EXPECT_THAT(Query(), HasSubstr("event=kubelet_found"));
  EXPECT_EQ(Read().gpus[0].holders.size(), 1);
  Query();
  EXPECT_EQ(Read().gpus[0].holders.size(), 1);
  kubelet_.AddPod("shop", "web-0", {Gpu("GPU-sim-0")});
  EXPECT_EQ(Query(), "");
  EXPECT_EQ(Read().gpus[0].holders.size(), 1);
}

TEST_F(EmptyListTest, PodsThatANewKubeletListsLaterThanOthersStayHolders) {
  kubelet_.AddPod("shop", "web-0", {Gpu("GPU-sim-0")});
  kubelet_.AddPod("shop", "web-1", {Gpu("GPU-sim-1")});
  Query();
  kubelet_.Stop();
  Query();
  kubelet_.Start();
  kubelet_.SetPods({{.devices = {"shop", "web-1", {Gpu("GPU-sim-1")}}, .of_api = {}}});
  EXPECT_THAT(Query(),
              AllOf(HasSubstr("event=kubelet_found"),
                    HasSubstr("level=info event=kubelet_list_incomplete missing=shop/web-0")));
  const absl::Time found_at = clock_.Now();
  while (clock_.Now() - found_at < kEmptyListConfirmation) {
    const NodeSnapshot snapshot = Read();
    EXPECT_EQ(snapshot.attribution.state, State::kKnown);
    EXPECT_EQ(snapshot.gpus[0].holders.size(), 1);
    EXPECT_EQ(snapshot.gpus[1].holders.size(), 1);
    EXPECT_EQ(Query(), "");
  }
  EXPECT_THAT(Read().gpus[0].holders, IsEmpty());
  EXPECT_EQ(Read().gpus[1].holders.size(), 1);
}

TEST_F(EmptyListTest, PodsApiOfANewKubeletShowsDeletedPods) {
  kubelet_.ServePodsApi(true);
  kubelet_.AddPod("shop", "web-0", {Gpu("GPU-sim-0")});
  kubelet_.AddPod("shop", "web-1", {Gpu("GPU-sim-1")});
  Query();
  kubelet_.Stop();
  Query();
  kubelet_.Start();
  kubelet_.SetPods({{.devices = {"shop", "web-1", {Gpu("GPU-sim-1")}}, .of_api = {}}});
  Query();
  EXPECT_THAT(Read().gpus[0].holders, IsEmpty());
}

TEST_F(EmptyListTest, ListWithoutSomePodsIsAcceptedAtOnce) {
  kubelet_.AddPod("shop", "web-0", {Gpu("GPU-sim-0")});
  kubelet_.AddPod("shop", "web-1", {Gpu("GPU-sim-1")});
  Query();
  kubelet_.SetPods({{.devices = {"shop", "web-1", {Gpu("GPU-sim-1")}}, .of_api = {}}});
  Query();
  const NodeSnapshot snapshot = Read();
  EXPECT_THAT(snapshot.gpus[0].holders, IsEmpty());
  EXPECT_EQ(snapshot.gpus[1].holders.size(), 1);
}

TEST_F(EmptyListTest, EmptyListIsAcceptedAtOnceIfThePodsApiLacksThePods) {
  kubelet_.ServePodsApi(true);
  kubelet_.AddPod("shop", "web-0", {Gpu("GPU-sim-0")});
  Query();
  kubelet_.SetPods({});
  kubelet_.AddPod("kube-system", "kube-proxy-x7k2p", {});
  EXPECT_EQ(Query(), "");
  const NodeSnapshot snapshot = Read();
  EXPECT_EQ(snapshot.attribution.state, State::kKnown);
  EXPECT_THAT(snapshot.gpus[0].holders, IsEmpty());
}

TEST_F(EmptyListTest, PodsKeepTheirGpusWhileThePodsApiListsThem) {
  kubelet_.ServePodsApi(true);
  const KubeletPod reported = {.uid = kUid0};
  kubelet_.SetPods({{.devices = {"shop", "web-0", {Gpu("GPU-sim-0")}}, .of_api = reported}});
  Query();
  kubelet_.SetPods({{.devices = {"shop", "web-0", {}}, .of_api = reported}});
  Query();
  EXPECT_EQ(Read().gpus[0].holders.size(), 1);
  kubelet_.SetPods(
      {{.devices = {"shop", "web-0", {}}, .of_api = {.uid = kUid0, .has_ended = true}}});
  Query();
  EXPECT_THAT(Read().gpus[0].holders, IsEmpty()) << "it has ended";
}

TEST_F(EmptyListTest, SuccessorOfTheSameNameIsNoHolder) {
  kubelet_.ServePodsApi(true);
  kubelet_.SetPods({{.devices = {"shop", "web-0", {Gpu("GPU-sim-0")}}, .of_api = {.uid = kUid0}}});
  Query();
  kubelet_.SetPods({{.devices = {"shop", "web-0", {}}, .of_api = {.uid = kUid1}}});
  Query();
  EXPECT_THAT(Read().gpus[0].holders, IsEmpty());
}

// The kubelet lists pods, or none, or fails, and is queried at varying intervals. A holder keeps
// its GPU until no pod has been listed for 15 s without a break, and at most one interval longer.
TEST_F(EmptyListTest, EmptyListIsAcceptedNeitherTooEarlyNorTooLate) {
  std::minstd_rand random(20261122);  // NOLINT(cert-msc51-cpp): the same each time
  absl::Time none_since = absl::InfiniteFuture();
  absl::Time listed_at = absl::InfinitePast();
  bool held = false;
  int kept = 0;
  for (int i = 0; i < 1000; ++i) {
    clock_.Advance(absl::Seconds(1 + random() % 5));
    const auto kind = random() % 10;
    kubelet_.Fail(kind == 0 ? absl::UnavailableError("starting") : absl::OkStatus());
    const bool fails = kind == 0;
    const bool lists = kind == 1;
    kubelet_.SetPods({});
    if (lists) kubelet_.AddPod("shop", "web-0", {Gpu("GPU-sim-0")});
    testing::internal::CaptureStderr();
    attribution_.Query();
    testing::internal::GetCapturedStderr();

    if (fails || lists) none_since = absl::InfiniteFuture();
    if (!fails && !lists) none_since = std::min(none_since, clock_.Now());
    if (lists) listed_at = clock_.Now();
    const absl::Duration none_for = clock_.Now() - none_since;
    held = lists || (held && none_for < kEmptyListConfirmation);
    const NodeSnapshot snapshot = Read();
    if (held && clock_.Now() - listed_at > kAttributionGrace) {
      EXPECT_EQ(snapshot.attribution.state, State::kUnknown) << i;
    } else if (snapshot.attribution.state == State::kKnown) {
      EXPECT_EQ(!snapshot.gpus[0].holders.empty(), held) << i;
      kept += held && none_since != absl::InfiniteFuture() ? 1 : 0;
    } else {
      EXPECT_FALSE(held) << i << ": " << snapshot.attribution.why;
    }
    if (none_for > kEmptyListConfirmation + kKubeletInterval) {
      EXPECT_EQ(snapshot.attribution.state, State::kKnown) << i;
      EXPECT_THAT(snapshot.gpus[0].holders, IsEmpty()) << i;
    }
  }
  EXPECT_GT(kept, 50) << "the random sequence has the case";
}

// A kubelet of 1.36 that has just started answers OK without the pods of the API server: with
// nothing, or with its static pods only.
class UnsyncedPodsApiTest : public AttributedNode,
                            public testing::WithParamInterface<std::vector<FakeKubelet::Pod>> {
 protected:
  UnsyncedPodsApiTest() {
    kubelet_.ServePodsApi(true);
    processes_["GPU-sim-0"] = {{.pid = 100}};
  }
};

INSTANTIATE_TEST_SUITE_P(, UnsyncedPodsApiTest,
                         testing::Values(std::vector<FakeKubelet::Pod>(),
                                         std::vector<FakeKubelet::Pod>{
                                             {.devices = {"kube-system", "etcd-gpu-7", {}},
                                              .of_api = {.is_static = true}}}));

TEST_P(UnsyncedPodsApiTest, DoesNotConfirmTheFirstList) {
  kubelet_.SetPods(GetParam());
  Query();
  const absl::Time first_observed_at = clock_.Now();
  for (; clock_.Now() - first_observed_at < kEmptyListConfirmation; Query()) {
    EXPECT_EQ(Read().attribution.state, State::kUnknown);
  }
  EXPECT_EQ(Read().attribution.state, State::kKnown);
}

TEST_P(UnsyncedPodsApiTest, KeepsHoldersOfTheirGpus) {
  kubelet_.SetPods({{.devices = {"shop", "web-0", {Gpu("GPU-sim-0")}}, .of_api = {.uid = kUid0}}});
  Query();
  kubelet_.SetPods(GetParam());
  EXPECT_THAT(Query(), HasSubstr("event=kubelet_list_empty"));
  const absl::Time first_observed_at = clock_.Now();
  for (; clock_.Now() - first_observed_at < kEmptyListConfirmation; Query()) {
    const NodeSnapshot snapshot = Read();
    ASSERT_EQ(snapshot.gpus[0].holders.size(), 1);
    EXPECT_EQ(snapshot.pods[0].uid, kUid0);
  }
  EXPECT_THAT(Read().gpus[0].holders, IsEmpty());
}

// An attribution with the name of its own pod, as Kubernetes passes it.
class OwnPodAttributionTest : public AttributedNode {
 protected:
  OwnPodAttributionTest() : AttributedNode("gpu-scaler/agent-x7k2p") {
    processes_["GPU-sim-0"] = {{.pid = 100}};
  }

  // Lists the pods of the API server too, or only the static ones.
  void ListPods(bool all) {
    kubelet_.SetPods({});
    kubelet_.AddPod("kube-system", "kube-proxy-gpu-7", {});
    if (!all) return;
    kubelet_.AddPod("gpu-scaler", "agent-x7k2p", {});
    kubelet_.AddPod("shop", "web-0", {Gpu("GPU-sim-0")});
  }
};

TEST_F(OwnPodAttributionTest, ListWithoutOurPodIsNotUsed) {
  ListPods(true);
  Query();
  const absl::Time answered_at = clock_.Now();
  ListPods(false);
  Query();
  for (; clock_.Now() - answered_at <= kAttributionGrace; Query()) {
    const NodeSnapshot snapshot = Read();
    EXPECT_EQ(snapshot.attribution.state, State::kKnown);
    EXPECT_EQ(snapshot.gpus[0].holders.size(), 1) << clock_.Now() - answered_at;
  }
  for (int i = 0; i < 20; ++i, Query()) {
    const NodeSnapshot snapshot = Read();
    EXPECT_EQ(snapshot.attribution.state, State::kUnknown);
    EXPECT_THAT(snapshot.attribution.why, HasSubstr("does not list gpu-scaler/agent-x7k2p"));
  }
  ListPods(true);
  Query();
  EXPECT_EQ(Read().gpus[0].holders.size(), 1);
}

TEST_F(OwnPodAttributionTest, StaticPodsWithGpusDoNotMakeItAnAnswer) {
  ListPods(true);
  Query();
  kubelet_.SetPods({{.devices = {"kube-system", "etcd-gpu-7", {Gpu("GPU-sim-1")}}, .of_api = {}}});
  Query();
  const NodeSnapshot snapshot = Read();
  EXPECT_EQ(snapshot.gpus[0].holders.size(), 1);
  EXPECT_THAT(snapshot.gpus[1].holders, IsEmpty());
}

TEST_F(OwnPodAttributionTest, UnknownFromTheStartUntilOurPodIsListed) {
  ListPods(false);
  for (int i = 0; i < 20; ++i) {
    Query();
    ASSERT_EQ(Read().attribution.state, State::kUnknown) << i;
  }
  ListPods(true);
  Query();
  EXPECT_EQ(Read().gpus[0].holders.size(), 1);
}

TEST_F(OwnPodAttributionTest, LastPodIsGoneAfterTheConfirmation) {
  ListPods(true);
  Query();
  kubelet_.SetPods({});
  kubelet_.AddPod("gpu-scaler", "agent-x7k2p", {});
  Query();
  const absl::Time first_observed_at = clock_.Now();
  while (clock_.Now() - first_observed_at < kEmptyListConfirmation) {
    EXPECT_EQ(Read().gpus[0].holders.size(), 1);
    Query();
  }
  const NodeSnapshot snapshot = Read();
  EXPECT_EQ(snapshot.attribution.state, State::kKnown);
  EXPECT_THAT(snapshot.gpus[0].holders, IsEmpty());
}

}  // namespace
}  // namespace gpuscaler
