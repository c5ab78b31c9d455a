#include "workload/attribution.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "workload/test_attributed_node.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class AttributionTest : public AttributedNode {};

TEST_F(AttributionTest, WritesTheOwnersIntoTheSnapshot) {
  kubelet_.AddPod("shop", "web-6d4cf56db6-x7k2p", {Gpu("GPU-sim-1")});
  EXPECT_THAT(Query(), HasSubstr("event=kubelet_found"));
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
  EXPECT_EQ(pod.is_terminating, std::nullopt);
}

TEST_F(AttributionTest, IsUnknownUntilTheFirstAnswer) {
  NodeSnapshot snapshot = Read();
  EXPECT_EQ(snapshot.attribution.state, State::kUnknown);
  EXPECT_EQ(log_, "");
  Query();
  snapshot = Read();
  EXPECT_EQ(snapshot.attribution.state, State::kKnown);
  EXPECT_THAT(log_, HasSubstr("event=attribution_known"));
}

TEST_F(AttributionTest, ReturnsWhetherTheOwnersChanged) {
  EXPECT_TRUE(attribution_.Query());
  EXPECT_FALSE(attribution_.Query());
  kubelet_.AddPod("shop", "web-0", {Gpu("GPU-sim-1")});
  EXPECT_TRUE(attribution_.Query());
  EXPECT_FALSE(attribution_.Query());
}

TEST_F(AttributionTest, PodsApiHasOwnersReadinessAndAddress) {
  kubelet_.ServePodsApi(true);
  const KubeletPod reported = {.uid = kUid0,
                               .labels = {{"pod-template-hash", "6d4cf56db6"}},
                               .owner_references = {{"ReplicaSet", "web-6d4cf56db6", true}},
                               .ready = false,
                               .is_terminating = true,
                               .address = "10.0.0.7"};
  kubelet_.SetPods(
      {{.devices = {"shop", "web-6d4cf56db6-x7k2p", {Gpu("GPU-sim-0")}}, .of_api = reported}});
  EXPECT_THAT(Query(), HasSubstr("event=pods_api_found"));
  const NodeSnapshot snapshot = Read();
  ASSERT_EQ(snapshot.pods.size(), 1);
  EXPECT_EQ(snapshot.pods[0].owners_from, Pod::OwnersFrom::kReferences);
  EXPECT_EQ(Owners(snapshot), "ReplicaSet/web-6d4cf56db6 Deployment/web");
  EXPECT_EQ(snapshot.pods[0].uid, kUid0);
  EXPECT_EQ(snapshot.pods[0].ready, false);
  EXPECT_EQ(snapshot.pods[0].is_terminating, true);
  EXPECT_EQ(snapshot.pods[0].address, "10.0.0.7");
}

TEST_F(AttributionTest, KubeletWithoutThePodsApiIsLoggedOnce) {
  kubelet_.AddPod("shop", "web-0", {Gpu("GPU-sim-0")});
  EXPECT_THAT(Query(), HasSubstr("level=info event=pods_api_absent"));
  EXPECT_EQ(Query(), "");
}

TEST_F(AttributionTest, EndedPodHoldsNothing) {
  kubelet_.ServePodsApi(true);
  kubelet_.ListEndedPods(true);
  kubelet_.SetPods(
      {{.devices = {"shop", "job-x7k2p", {Gpu("GPU-sim-0")}}, .of_api = {.has_ended = true}}});
  Query();
  EXPECT_THAT(Read().gpus[0].holders, IsEmpty());
}

TEST_F(AttributionTest, SharedGpuIsDividedByTheControlGroupsOfItsProcesses) {
  kubelet_.ServePodsApi(true);
  kubelet_.SetPods(
      {{.devices = {"shop", "web-0", {Gpu("GPU-sim-0::0")}}, .of_api = {.uid = kUid0}},
       {.devices = {"shop", "web-1", {Gpu("GPU-sim-0::1")}}, .of_api = {.uid = kUid1}}});
  Query();
  RunProcess(100, kUid0);
  RunProcess(101, kUid1);
  processes_["GPU-sim-0"] = {{.pid = 100, .utilization_percent = 30},
                             {.pid = 101, .utilization_percent = 10}};
  const NodeSnapshot snapshot = Read();
  ASSERT_EQ(snapshot.gpus[0].holders.size(), 2);
  EXPECT_EQ(snapshot.gpus[0].holders[0].share, 0.75);
  EXPECT_EQ(snapshot.gpus[0].holders[1].share, 0.25);
}

TEST_F(AttributionTest, FoldersOfLogsNameThePodsOfProcessesWithoutThePodsApi) {
  kubelet_.AddPod("shop", "web-0", {Gpu("GPU-sim-0::0")});
  kubelet_.AddPod("shop", "web-1", {Gpu("GPU-sim-0::1")});
  Query();
  RunProcess(100, kUid0);
  RunProcess(101, kUid1);
  folder_.AddFolder(absl::StrCat("logs/shop_web-0_", kUid0));
  folder_.AddFolder(absl::StrCat("logs/shop_web-1_", kUid1));
  processes_["GPU-sim-0"] = {{.pid = 100, .utilization_percent = 30},
                             {.pid = 101, .utilization_percent = 10}};
  const NodeSnapshot snapshot = Read();
  ASSERT_EQ(snapshot.gpus[0].holders.size(), 2);
  EXPECT_EQ(snapshot.gpus[0].holders[0].share, 0.75);
  EXPECT_EQ(snapshot.gpus[0].holders[1].share, 0.25);
}

TEST_F(AttributionTest, DeviceWithoutAKnownGpuKeepsOtherOwnersKnown) {
  kubelet_.AddPod("shop", "web-0", {Gpu("GPU-sim-0")});
  kubelet_.AddPod("shop", "web-1", {Gpu("nvidia1")});
  Query();
  const NodeSnapshot snapshot = Read();
  EXPECT_EQ(snapshot.attribution.state, State::kKnown);
  EXPECT_EQ(snapshot.attribution.why,
            "shop/web-1 holds nvidia1 of nvidia.com/gpu, which may be GPU 1");
  ASSERT_EQ(snapshot.gpus[0].holders.size(), 1);
  EXPECT_FALSE(snapshot.gpus[0].holders[0].is_possible);
  ASSERT_EQ(snapshot.gpus[1].holders.size(), 1);
  EXPECT_TRUE(snapshot.gpus[1].holders[0].is_possible);
  EXPECT_THAT(log_, HasSubstr("event=device_unmatched pod=shop/web-1"));
  EXPECT_THAT(log_, Not(HasSubstr("event=attribution_unknown")));
  Read();
  EXPECT_EQ(log_, "") << "logged once";
}

TEST_F(AttributionTest, GpusThatNeverAnsweredKeepOtherOwnersKnown) {
  kubelet_.AddPod("shop", "web-0", {Gpu("GPU-sim-0")});
  kubelet_.AddPod("shop", "web-1", {Gpu("GPU-sim-2")});
  kubelet_.AddPod("shop", "web-2", {Gpu("GPU-sim-3")});
  Query();
  never_answered_ = 2;
  const NodeSnapshot snapshot = Read();
  EXPECT_EQ(snapshot.attribution.state, State::kKnown);
  EXPECT_EQ(snapshot.attribution.why,
            "shop/web-1 holds GPU-sim-2 of nvidia.com/gpu, which may be one of GPUs 2, 3");
  EXPECT_EQ(snapshot.gpus[0].holders.size(), 1);
  EXPECT_EQ(snapshot.gpus[2].holders.size(), 2);
  EXPECT_EQ(snapshot.gpus[3].holders.size(), 2);
  EXPECT_THAT(log_, HasSubstr("event=device_unmatched pod=shop/web-2"));
  EXPECT_THAT(log_, Not(HasSubstr("event=attribution_unknown")));
}

class IgnoringAttributionTest : public AttributedNode {
 protected:
  IgnoringAttributionTest() : AttributedNode("", {{"gpu-operator", "dcgm-"}}) {}
};

TEST_F(IgnoringAttributionTest, IgnoredPodsHoldNothingAndOthersDo) {
  kubelet_.AddPod("gpu-operator", "dcgm-exporter-x7k2p", {Gpu("GPU-sim-0"), Gpu("GPU-sim-1")});
  kubelet_.AddPod("gpu-operator", "web-0", {Gpu("GPU-sim-1")});
  Query();
  const NodeSnapshot snapshot = Read();
  EXPECT_EQ(snapshot.attribution.state, State::kKnown);
  EXPECT_THAT(snapshot.gpus[0].holders, IsEmpty());
  EXPECT_EQ(snapshot.gpus[1].holders.size(), 1);
  ASSERT_EQ(snapshot.pods.size(), 1);
  EXPECT_EQ(snapshot.pods[0].name, "web-0");
}

TEST_F(IgnoringAttributionTest, OnlyIgnoredPodsNeedNoConfirmation) {
  kubelet_.AddPod("shop", "web-0", {Gpu("GPU-sim-1")});
  Query();
  kubelet_.SetPods({});
  kubelet_.AddPod("gpu-operator", "dcgm-exporter-x7k2p", {Gpu("GPU-sim-0")});
  Query();
  EXPECT_THAT(Read().gpus[1].holders, IsEmpty());
}

TEST(IgnoredPods, AreLoggedAtTheStart) {
  const FakeClock clock;
  testing::internal::CaptureStderr();
  const KubeletAttribution attribution(clock, {.pod_resources = "/absent"}, absl::Seconds(1), {},
                                       "", {{"monitoring", ""}, {"gpu-operator", "dcgm-"}});
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("event=pods_ignored pods=monitoring/*,gpu-operator/dcgm-*"));
}

TEST_F(AttributionTest, ChangedProcessesRequestAQueryAtMostOnceASecond) {
  Query();
  Read();
  EXPECT_FALSE(query_requested_) << "the first reading";
  processes_["GPU-sim-0"] = {{.pid = 100}};
  Read();
  EXPECT_TRUE(query_requested_);
  processes_["GPU-sim-0"] = {{.pid = 101}};
  Read();
  EXPECT_FALSE(query_requested_) << "too soon";
  Read();
  EXPECT_FALSE(query_requested_);
  clock_.Advance(absl::Seconds(1));
  Read();
  EXPECT_TRUE(query_requested_) << "not forgotten";
  clock_.Advance(absl::Seconds(1));
  Read();
  EXPECT_FALSE(query_requested_);
}

TEST_F(AttributionTest, GpuWithoutAProcessListHidesNoChangeOfAnother) {
  processes_["GPU-sim-1"] = {{.pid = 200}};
  Query();
  Read();
  without_list_ = {"GPU-sim-1"};
  clock_.Advance(absl::Seconds(1));
  Read();
  EXPECT_FALSE(query_requested_) << "a list that failed";
  processes_["GPU-sim-0"] = {{.pid = 100}};
  Read();
  EXPECT_TRUE(query_requested_);
  without_list_.clear();
  clock_.Advance(absl::Seconds(1));
  Read();
  EXPECT_FALSE(query_requested_) << "the processes that were there before";
  processes_["GPU-sim-1"] = {{.pid = 201}};
  clock_.Advance(absl::Seconds(1));
  Read();
  EXPECT_TRUE(query_requested_);
}

}  // namespace
}  // namespace gpuscaler
