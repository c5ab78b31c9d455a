#include "workload/attribution.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/fake_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kubelet/fake_kubelet.h"

namespace gpuscaler {
namespace {

using State = Attribution::State;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr char kUid0[] = "0f3c1d2e-5a6b-4c7d-8e9f-a0b1c2d3e4f5";
constexpr char kUid1[] = "1f3c1d2e-5a6b-4c7d-8e9f-a0b1c2d3e4f5";

class KubeletAttributionTest : public testing::Test {
 protected:
  KubeletAttributionTest()
      : folder_(absl::StrCat(testing::TempDir(), "attribution_test.", getpid())),
        kubelet_(folder_ + "/sockets"),
        attribution_(clock_,
                     {.pod_resources = kubelet_.pod_resources_socket(),
                      .pods_api = {folder_ + "/absent.sock", kubelet_.pods_api_socket()}},
                     absl::Seconds(10),
                     {.proc = folder_ + "/proc", .pod_logs = folder_ + "/logs"}) {}
  ~KubeletAttributionTest() override {
    std::filesystem::remove_all(folder_ + "/proc");
    std::filesystem::remove_all(folder_ + "/logs");
  }

  static PodDevice Gpu(const std::string& id) {
    return {.container = "main", .resource = "nvidia.com/gpu", .id = id};
  }

  // The log of a question.
  std::string Ask() {
    clock_.Advance(kKubeletInterval);
    testing::internal::CaptureStderr();
    attribution_.Ask();
    return testing::internal::GetCapturedStderr();
  }

  // A reading of two GPUs and the silent ones, and what was logged about its owners.
  NodeSnapshot Read() {
    NodeSnapshot snapshot;
    snapshot.taken_at = clock_.Now();
    for (const char* const uuid : {"GPU-sim-0", "GPU-sim-1"}) {
      GpuSample gpu;
      gpu.uuid = uuid;
      if (!without_list_.contains(uuid)) gpu.processes = processes_[uuid];
      snapshot.gpus.push_back(std::move(gpu));
    }
    for (int i = 2; i < 2 + silent_; ++i) {
      snapshot.gpus.push_back({.uuid = UnknownGpuUuid(i), .index = i});
    }
    testing::internal::CaptureStderr();
    wants_to_ask_ = attribution_.Annotate(snapshot);
    log_ = testing::internal::GetCapturedStderr();
    return snapshot;
  }

  void RunProcess(int64_t pid, const std::string& uid) const {
    const std::string folder = absl::StrCat(folder_, "/proc/", pid);
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/stat") << pid << " (x) S 1 1 1 0 -1 4 0 0 0 0 0 0 0 0 20 0 1 0 77 0\n";
    std::ofstream(folder + "/cgroup") << "0::/kubepods/pod" << uid << "/" << std::string(64, 'a');
  }

  // "Deployment/web ..." of the first pod.
  static std::string Owners(const NodeSnapshot& snapshot) {
    if (snapshot.pods.empty()) return "no pod";
    return absl::StrJoin(snapshot.pods[0].owners, " ", [](std::string* text, const auto& owner) {
      absl::StrAppend(text, owner.kind, "/", owner.name);
    });
  }

  const std::string folder_;
  FakeClock clock_;
  FakeKubelet kubelet_;
  KubeletAttribution attribution_;
  std::map<std::string, std::vector<GpuProcess>> processes_;  // by uuid
  std::set<std::string> without_list_;                        // uuids of GPUs that tell none
  int silent_ = 0;                                            // more GPUs, which never answered
  bool wants_to_ask_ = false;
  std::string log_;  // of the last Read()
};

TEST_F(KubeletAttributionTest, WritesTheOwnersIntoTheSnapshot) {
  kubelet_.AddPod("shop", "web-6d4cf56db6-x7k2p", {Gpu("GPU-sim-1")});
  EXPECT_THAT(Ask(), HasSubstr("event=kubelet_found"));
  const NodeSnapshot snapshot = Read();
  EXPECT_EQ(snapshot.attribution.state, State::kKnown);
  EXPECT_THAT(snapshot.gpus[0].holders, IsEmpty());
  ASSERT_EQ(snapshot.gpus[1].holders.size(), 1);
  EXPECT_EQ(snapshot.gpus[1].holders[0].container, "main");
  ASSERT_EQ(snapshot.pods.size(), 1);
  const Pod& pod = snapshot.pods[0];
  EXPECT_EQ(pod.namespace_name, "shop");
  EXPECT_EQ(pod.name, "web-6d4cf56db6-x7k2p");
  EXPECT_EQ(pod.owners_from, Pod::OwnersFrom::kName);
  EXPECT_EQ(Owners(snapshot), "Deployment/web Rollout/web");
  EXPECT_EQ(pod.ready, std::nullopt);
  EXPECT_EQ(pod.is_ending, std::nullopt);
}

TEST_F(KubeletAttributionTest, IsUnknownUntilTheFirstAnswer) {
  NodeSnapshot snapshot = Read();
  EXPECT_EQ(snapshot.attribution.state, State::kUnknown);
  EXPECT_EQ(log_, "");
  Ask();
  snapshot = Read();
  EXPECT_EQ(snapshot.attribution.state, State::kKnown);
  EXPECT_THAT(log_, HasSubstr("event=attribution_known"));
}

// An agent and its kubelet start together, on a node where pods run.
TEST_F(KubeletAttributionTest, FirstListWithoutAPodIsDoubtedForAWhileWhereGpusAreBusy) {
  processes_["GPU-sim-1"] = {{.pid = 100}};
  Ask();
  const absl::Time first_said_at = clock_.Now();
  for (; clock_.Now() - first_said_at < kNoneListedDoubt; Ask()) {
    const NodeSnapshot snapshot = Read();
    EXPECT_EQ(snapshot.attribution.state, State::kUnknown);
    EXPECT_THAT(snapshot.attribution.why, HasSubstr("which it may not know yet"));
    EXPECT_EQ(log_, "") << "a start is no event";
  }
  EXPECT_EQ(clock_.Now() - first_said_at, kNoneListedDoubt);
  EXPECT_EQ(Read().attribution.state, State::kKnown);
  kubelet_.Stop();
  Ask();
  EXPECT_EQ(Read().attribution.state, State::kKnown) << "it was believed";
}

TEST_F(KubeletAttributionTest, PodsThatAreListedEndTheDoubtAtOnce) {
  processes_["GPU-sim-1"] = {{.pid = 100}};
  Ask();
  EXPECT_EQ(Read().attribution.state, State::kUnknown);
  kubelet_.AddPod("shop", "web-0", {Gpu("GPU-sim-1")});
  Ask();
  EXPECT_EQ(Read().gpus[1].holders.size(), 1);
  EXPECT_EQ(Read().attribution.state, State::kKnown);
}

TEST_F(KubeletAttributionTest, ErrorBeginsTheDoubtOfTheFirstListAnew) {
  processes_["GPU-sim-1"] = {{.pid = 100}};
  Ask();
  Ask();
  kubelet_.Stop();
  Ask();
  EXPECT_EQ(Read().attribution.state, State::kUnknown);
  kubelet_.Start();
  Ask();
  Ask();
  EXPECT_EQ(Read().attribution.state, State::kUnknown);
  Ask();
  Ask();
  EXPECT_EQ(Read().attribution.state, State::kKnown);
}

TEST_F(KubeletAttributionTest, PodsApiThatHasSyncedIsBelievedThatNobodyHoldsAnything) {
  kubelet_.ServePodsApi(true);
  processes_["GPU-sim-1"] = {{.pid = 100}};
  Ask();
  EXPECT_EQ(Read().attribution.state, State::kKnown);
}

TEST_F(KubeletAttributionTest, PodsApiThatHasNotSyncedIsWaitedForThoughGpusAreIdle) {
  kubelet_.ServePodsApi(true);
  kubelet_.FailPodsApi(absl::FailedPreconditionError("not synced"));
  Ask();
  EXPECT_EQ(Read().attribution.state, State::kUnknown);
  kubelet_.FailPodsApi(absl::OkStatus());
  Ask();
  EXPECT_EQ(Read().attribution.state, State::kKnown);
}

TEST_F(KubeletAttributionTest, PodsApiThatNeverSyncsIsNotWaitedForForEver) {
  kubelet_.ServePodsApi(true);
  kubelet_.FailPodsApi(absl::FailedPreconditionError("not synced"));
  Ask();
  clock_.Advance(kNoneListedDoubt - absl::Seconds(1));
  EXPECT_EQ(Read().attribution.state, State::kUnknown);
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(Read().attribution.state, State::kKnown);
}

TEST_F(KubeletAttributionTest, TellsWhetherTheOwnersChanged) {
  EXPECT_TRUE(attribution_.Ask());
  EXPECT_FALSE(attribution_.Ask());
  kubelet_.AddPod("shop", "web-0", {Gpu("GPU-sim-1")});
  EXPECT_TRUE(attribution_.Ask());
  EXPECT_FALSE(attribution_.Ask());
}

TEST_F(KubeletAttributionTest, LastOwnersStandForAGoneKubeletUntilTheGraceIsOver) {
  kubelet_.AddPod("shop", "web-0", {Gpu("GPU-sim-0")});
  Ask();
  const absl::Time answered_at = clock_.Now();
  Read();
  kubelet_.Stop();
  EXPECT_THAT(Ask(), HasSubstr("level=warn event=kubelet_lost"));
  EXPECT_EQ(Ask(), "") << "said once";
  while (clock_.Now() - answered_at <= kAttributionGrace) {
    const NodeSnapshot snapshot = Read();
    EXPECT_EQ(snapshot.attribution.state, State::kKnown);
    EXPECT_EQ(snapshot.gpus[0].holders.size(), 1);
    EXPECT_EQ(log_, "");
    Ask();
  }
  NodeSnapshot snapshot = Read();
  EXPECT_EQ(snapshot.attribution.state, State::kUnknown);
  EXPECT_THAT(snapshot.attribution.why, HasSubstr("no such socket"));
  EXPECT_THAT(snapshot.gpus[0].holders, IsEmpty());
  EXPECT_THAT(snapshot.pods, IsEmpty());
  EXPECT_THAT(log_, HasSubstr("level=warn event=attribution_unknown"));
  Ask();
  Read();
  EXPECT_EQ(log_, "") << "said once";

  kubelet_.Start();
  EXPECT_THAT(Ask(), HasSubstr("event=kubelet_found"));
  snapshot = Read();
  EXPECT_EQ(snapshot.attribution.state, State::kKnown);
  EXPECT_EQ(snapshot.gpus[0].holders.size(), 1);
  EXPECT_THAT(log_, HasSubstr("event=attribution_known"));
}

TEST_F(KubeletAttributionTest, RestartOfTheKubeletIsNotFelt) {
  kubelet_.AddPod("shop", "web-0", {Gpu("GPU-sim-0")});
  Ask();
  kubelet_.Stop();
  Ask();
  kubelet_.Start();
  EXPECT_THAT(Ask(), HasSubstr("event=kubelet_found"));
  EXPECT_EQ(Read().gpus[0].holders.size(), 1);
}

TEST_F(KubeletAttributionTest, KubeletThatListsNoPodIsBelievedWhenItHasSaidSoForLong) {
  kubelet_.AddPod("shop", "web-0", {Gpu("GPU-sim-0")});
  Ask();
  kubelet_.SetPods({});
  EXPECT_THAT(Ask(), HasSubstr("level=info event=kubelet_lists_none owners_stand_seconds=15"));
  const absl::Time first_said_at = clock_.Now();
  while (clock_.Now() - first_said_at < kNoneListedDoubt) {
    const NodeSnapshot snapshot = Read();
    EXPECT_EQ(snapshot.attribution.state, State::kKnown);
    EXPECT_EQ(snapshot.gpus[0].holders.size(), 1);
    EXPECT_EQ(Ask(), "") << "said once, and no error";
  }
  const NodeSnapshot snapshot = Read();
  EXPECT_EQ(clock_.Now() - first_said_at, kNoneListedDoubt);
  EXPECT_EQ(snapshot.attribution.state, State::kKnown);
  EXPECT_THAT(snapshot.gpus[0].holders, IsEmpty());
  EXPECT_THAT(snapshot.pods, IsEmpty());
}

TEST_F(KubeletAttributionTest, PodsThatANewKubeletKnowsLateAreNotMissedForAMoment) {
  kubelet_.AddPod("shop", "web-0", {Gpu("GPU-sim-0")});
  Ask();
  kubelet_.Stop();
  Ask();
  kubelet_.Start();
  kubelet_.SetPods({});
  EXPECT_THAT(Ask(), HasSubstr("event=kubelet_found"));
  EXPECT_EQ(Read().gpus[0].holders.size(), 1);
  Ask();
  EXPECT_EQ(Read().gpus[0].holders.size(), 1);
  kubelet_.AddPod("shop", "web-0", {Gpu("GPU-sim-0")});
  EXPECT_EQ(Ask(), "");
  EXPECT_EQ(Read().gpus[0].holders.size(), 1);
}

TEST_F(KubeletAttributionTest, ListThatLacksSomePodsIsBelievedAtOnce) {
  kubelet_.AddPod("shop", "web-0", {Gpu("GPU-sim-0")});
  kubelet_.AddPod("shop", "web-1", {Gpu("GPU-sim-1")});
  Ask();
  kubelet_.SetPods({{.devices = {"shop", "web-1", {Gpu("GPU-sim-1")}}, .of_api = {}}});
  Ask();
  const NodeSnapshot snapshot = Read();
  EXPECT_THAT(snapshot.gpus[0].holders, IsEmpty());
  EXPECT_EQ(snapshot.gpus[1].holders.size(), 1);
}

TEST_F(KubeletAttributionTest, PodsApiThatMissesThePodsTooIsBelievedAtOnce) {
  kubelet_.ServePodsApi(true);
  kubelet_.AddPod("shop", "web-0", {Gpu("GPU-sim-0")});
  Ask();
  kubelet_.SetPods({});
  EXPECT_EQ(Ask(), "");
  const NodeSnapshot snapshot = Read();
  EXPECT_EQ(snapshot.attribution.state, State::kKnown);
  EXPECT_THAT(snapshot.gpus[0].holders, IsEmpty());
}

TEST_F(KubeletAttributionTest, PodsApiThatKnowsThePodsStillKeepsThemTheirGpus) {
  kubelet_.ServePodsApi(true);
  const KubeletPod told = {.uid = kUid0};
  kubelet_.SetPods({{.devices = {"shop", "web-0", {Gpu("GPU-sim-0")}}, .of_api = told}});
  Ask();
  kubelet_.SetPods({{.devices = {"shop", "web-0", {}}, .of_api = told}});
  Ask();
  EXPECT_EQ(Read().gpus[0].holders.size(), 1);
  kubelet_.SetPods(
      {{.devices = {"shop", "web-0", {}}, .of_api = {.uid = kUid0, .has_ended = true}}});
  Ask();
  EXPECT_THAT(Read().gpus[0].holders, IsEmpty()) << "it has ended";
}

TEST_F(KubeletAttributionTest, SuccessorOfThatNameIsNotThePodThatHeldTheGpu) {
  kubelet_.ServePodsApi(true);
  kubelet_.SetPods({{.devices = {"shop", "web-0", {Gpu("GPU-sim-0")}}, .of_api = {.uid = kUid0}}});
  Ask();
  kubelet_.SetPods({{.devices = {"shop", "web-0", {}}, .of_api = {.uid = kUid1}}});
  Ask();
  EXPECT_THAT(Read().gpus[0].holders, IsEmpty());
}

// A kubelet that lists pods, or none, or fails, asked at intervals that processes shorten: whoever
// held a GPU holds it until none has been listed for 15 s without a break, and no longer than one
// interval more.
TEST_F(KubeletAttributionTest, NoPodIsBelievedNeitherTooEarlyNorTooLate) {
  std::minstd_rand dice(20261122);  // NOLINT(cert-msc51-cpp): the same each time
  absl::Time none_since = absl::InfiniteFuture();
  absl::Time listed_at = absl::InfinitePast();
  bool held = false;
  int stood = 0;
  for (int i = 0; i < 1000; ++i) {
    clock_.Advance(absl::Seconds(1 + dice() % 5));
    const auto kind = dice() % 10;
    kubelet_.Fail(kind == 0 ? absl::UnavailableError("starting") : absl::OkStatus());
    const bool fails = kind == 0;
    const bool lists = kind == 1;
    kubelet_.SetPods({});
    if (lists) kubelet_.AddPod("shop", "web-0", {Gpu("GPU-sim-0")});
    testing::internal::CaptureStderr();
    attribution_.Ask();
    testing::internal::GetCapturedStderr();

    if (fails || lists) none_since = absl::InfiniteFuture();
    if (!fails && !lists) none_since = std::min(none_since, clock_.Now());
    if (lists) listed_at = clock_.Now();
    const absl::Duration none_for = clock_.Now() - none_since;
    held = lists || (held && none_for < kNoneListedDoubt);
    const NodeSnapshot snapshot = Read();
    if (held && clock_.Now() - listed_at > kAttributionGrace) {
      EXPECT_EQ(snapshot.attribution.state, State::kUnknown) << i;
    } else if (snapshot.attribution.state == State::kKnown) {
      EXPECT_EQ(!snapshot.gpus[0].holders.empty(), held) << i;
      stood += held && none_since != absl::InfiniteFuture() ? 1 : 0;
    } else {
      EXPECT_FALSE(held) << i << ": " << snapshot.attribution.why;
    }
    if (none_for > kNoneListedDoubt + kKubeletInterval) {
      EXPECT_EQ(snapshot.attribution.state, State::kKnown) << i;
      EXPECT_THAT(snapshot.gpus[0].holders, IsEmpty()) << i;
    }
  }
  EXPECT_GT(stood, 50) << "the dice have shown the case";
}

TEST_F(KubeletAttributionTest, KubeletThatNeverAnsweredIsUnknownAtOnce) {
  kubelet_.Fail(absl::ResourceExhaustedError("rejected by rate limit"));
  EXPECT_THAT(Ask(), HasSubstr("rejected by rate limit"));
  const NodeSnapshot snapshot = Read();
  EXPECT_EQ(snapshot.attribution.state, State::kUnknown);
  EXPECT_THAT(snapshot.attribution.why, HasSubstr("rejected by rate limit"));
}

TEST_F(KubeletAttributionTest, TooManyQuestionsAreAnErrorLikeAnother) {
  kubelet_.AddPod("shop", "web-0", {Gpu("GPU-sim-0")});
  Ask();
  kubelet_.Fail(absl::ResourceExhaustedError("rejected by rate limit"));
  EXPECT_THAT(Ask(), HasSubstr("event=kubelet_lost"));
  EXPECT_EQ(Read().gpus[0].holders.size(), 1);
}

TEST_F(KubeletAttributionTest, SlowKubeletIsSilentAndTheSamplerDoesNotWait) {
  KubeletAttribution impatient(clock_,
                               {.pod_resources = kubelet_.pod_resources_socket(), .pods_api = {}},
                               absl::Milliseconds(50));
  kubelet_.Hang(true);
  testing::internal::CaptureStderr();
  EXPECT_FALSE(impatient.Ask());
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("no answer within 50ms"));
  NodeSnapshot snapshot;
  EXPECT_FALSE(impatient.Annotate(snapshot));
  EXPECT_EQ(snapshot.attribution.state, State::kUnknown);
}

TEST_F(KubeletAttributionTest, PodsApiTellsOwnersReadinessAndAddress) {
  kubelet_.ServePodsApi(true);
  const KubeletPod told = {.uid = kUid0,
                           .labels = {{"pod-template-hash", "6d4cf56db6"}},
                           .owner_references = {{"ReplicaSet", "web-6d4cf56db6", true}},
                           .ready = false,
                           .is_ending = true,
                           .address = "10.0.0.7"};
  kubelet_.SetPods(
      {{.devices = {"shop", "web-6d4cf56db6-x7k2p", {Gpu("GPU-sim-0")}}, .of_api = told}});
  EXPECT_THAT(Ask(), HasSubstr("event=pods_api_found"));
  const NodeSnapshot snapshot = Read();
  ASSERT_EQ(snapshot.pods.size(), 1);
  EXPECT_EQ(snapshot.pods[0].owners_from, Pod::OwnersFrom::kReferences);
  EXPECT_EQ(Owners(snapshot), "ReplicaSet/web-6d4cf56db6 Deployment/web");
  EXPECT_EQ(snapshot.pods[0].uid, kUid0);
  EXPECT_EQ(snapshot.pods[0].ready, false);
  EXPECT_EQ(snapshot.pods[0].is_ending, true);
  EXPECT_EQ(snapshot.pods[0].address, "10.0.0.7");
}

TEST_F(KubeletAttributionTest, WhatThePodsApiSaidStandsForTheGraceToo) {
  kubelet_.ServePodsApi(true);
  kubelet_.SetPods({{.devices = {"shop", "web-x7k2p", {Gpu("GPU-sim-0")}},
                     .of_api = {.owner_references = {{"DaemonSet", "web", true}}}}});
  Ask();
  kubelet_.ServePodsApi(false);
  EXPECT_THAT(Ask(), HasSubstr("event=pods_api_lost"));
  EXPECT_EQ(Owners(Read()), "DaemonSet/web");
  clock_.Advance(kAttributionGrace);
  Ask();
  EXPECT_EQ(Owners(Read()), "ReplicaSet/web DaemonSet/web Job/web");
}

TEST_F(KubeletAttributionTest, KubeletWithoutThePodsApiIsSaidOnce) {
  kubelet_.AddPod("shop", "web-0", {Gpu("GPU-sim-0")});
  EXPECT_THAT(Ask(), HasSubstr("level=info event=pods_api_absent"));
  EXPECT_EQ(Ask(), "");
}

TEST_F(KubeletAttributionTest, PodThatHasEndedHoldsNothing) {
  kubelet_.ServePodsApi(true);
  kubelet_.SetPods(
      {{.devices = {"shop", "job-x7k2p", {Gpu("GPU-sim-0")}}, .of_api = {.has_ended = true}}});
  Ask();
  EXPECT_THAT(Read().gpus[0].holders, IsEmpty());
}

TEST_F(KubeletAttributionTest, SharedGpuIsDividedByTheControlGroupsOfItsProcesses) {
  kubelet_.ServePodsApi(true);
  kubelet_.SetPods(
      {{.devices = {"shop", "web-0", {Gpu("GPU-sim-0::0")}}, .of_api = {.uid = kUid0}},
       {.devices = {"shop", "web-1", {Gpu("GPU-sim-0::1")}}, .of_api = {.uid = kUid1}}});
  Ask();
  RunProcess(100, kUid0);
  RunProcess(101, kUid1);
  processes_["GPU-sim-0"] = {{.pid = 100, .utilization_percent = 30},
                             {.pid = 101, .utilization_percent = 10}};
  const NodeSnapshot snapshot = Read();
  ASSERT_EQ(snapshot.gpus[0].holders.size(), 2);
  EXPECT_EQ(snapshot.gpus[0].holders[0].share, 0.75);
  EXPECT_EQ(snapshot.gpus[0].holders[1].share, 0.25);
}

TEST_F(KubeletAttributionTest, FoldersOfLogsNameThePodsOfProcessesWithoutThePodsApi) {
  kubelet_.AddPod("shop", "web-0", {Gpu("GPU-sim-0::0")});
  kubelet_.AddPod("shop", "web-1", {Gpu("GPU-sim-0::1")});
  Ask();
  RunProcess(100, kUid0);
  RunProcess(101, kUid1);
  std::filesystem::create_directories(absl::StrCat(folder_, "/logs/shop_web-0_", kUid0));
  std::filesystem::create_directories(absl::StrCat(folder_, "/logs/shop_web-1_", kUid1));
  processes_["GPU-sim-0"] = {{.pid = 100, .utilization_percent = 30},
                             {.pid = 101, .utilization_percent = 10}};
  const NodeSnapshot snapshot = Read();
  ASSERT_EQ(snapshot.gpus[0].holders.size(), 2);
  EXPECT_EQ(snapshot.gpus[0].holders[0].share, 0.75);
  EXPECT_EQ(snapshot.gpus[0].holders[1].share, 0.25);
}

TEST_F(KubeletAttributionTest, DeviceThatMayBeAnyGpuMakesTheOwnersUnknown) {
  kubelet_.AddPod("shop", "web-0", {Gpu("GPU-sim-0")});
  kubelet_.AddPod("shop", "web-1", {Gpu("nvidia1")});
  Ask();
  const NodeSnapshot snapshot = Read();
  EXPECT_EQ(snapshot.attribution.state, State::kUnknown);
  EXPECT_THAT(snapshot.attribution.why, HasSubstr("shop/web-1 holds nvidia1 of nvidia.com/gpu"));
  EXPECT_THAT(snapshot.gpus[0].holders, IsEmpty());
  EXPECT_THAT(log_, HasSubstr("event=device_unplaced pod=shop/web-1"));
  Read();
  EXPECT_EQ(log_, "") << "said once";
}

TEST_F(KubeletAttributionTest, GpusThatNeverAnsweredLeaveTheOwnersOfTheOthersKnown) {
  kubelet_.AddPod("shop", "web-0", {Gpu("GPU-sim-0")});
  kubelet_.AddPod("shop", "web-1", {Gpu("GPU-sim-2")});
  kubelet_.AddPod("shop", "web-2", {Gpu("GPU-sim-3")});
  Ask();
  silent_ = 2;
  const NodeSnapshot snapshot = Read();
  EXPECT_EQ(snapshot.attribution.state, State::kKnown);
  EXPECT_EQ(snapshot.attribution.why,
            "shop/web-1 holds GPU-sim-2 of nvidia.com/gpu, which may be any of those that have not "
            "answered yet");
  EXPECT_EQ(snapshot.gpus[0].holders.size(), 1);
  EXPECT_EQ(snapshot.gpus[2].holders.size(), 2);
  EXPECT_EQ(snapshot.gpus[3].holders.size(), 2);
  EXPECT_THAT(log_, HasSubstr("event=device_unplaced pod=shop/web-2"));
  EXPECT_THAT(log_, Not(HasSubstr("event=attribution_unknown")));
}

TEST_F(KubeletAttributionTest, OtherProcessesAskTheKubeletAnewAtMostOnceASecond) {
  Ask();
  Read();
  EXPECT_FALSE(wants_to_ask_) << "the first reading";
  processes_["GPU-sim-0"] = {{.pid = 100}};
  Read();
  EXPECT_TRUE(wants_to_ask_);
  processes_["GPU-sim-0"] = {{.pid = 101}};
  Read();
  EXPECT_FALSE(wants_to_ask_) << "too soon";
  Read();
  EXPECT_FALSE(wants_to_ask_);
  clock_.Advance(absl::Seconds(1));
  Read();
  EXPECT_TRUE(wants_to_ask_) << "not forgotten";
  clock_.Advance(absl::Seconds(1));
  Read();
  EXPECT_FALSE(wants_to_ask_);
}

TEST_F(KubeletAttributionTest, GpuWithoutAProcessListHidesNoChangeOfAnother) {
  processes_["GPU-sim-1"] = {{.pid = 200}};
  Ask();
  Read();
  without_list_ = {"GPU-sim-1"};
  clock_.Advance(absl::Seconds(1));
  Read();
  EXPECT_FALSE(wants_to_ask_) << "a list that failed";
  processes_["GPU-sim-0"] = {{.pid = 100}};
  Read();
  EXPECT_TRUE(wants_to_ask_);
  without_list_.clear();
  clock_.Advance(absl::Seconds(1));
  Read();
  EXPECT_FALSE(wants_to_ask_) << "the processes that were there before";
  processes_["GPU-sim-1"] = {{.pid = 201}};
  clock_.Advance(absl::Seconds(1));
  Read();
  EXPECT_TRUE(wants_to_ask_);
}

}  // namespace
}  // namespace gpuscaler
