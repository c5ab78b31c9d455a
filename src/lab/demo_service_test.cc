#include "lab/demo_service.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "base/test_eventually.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kubelet/kubelet_pods.h"
#include "kubelet/pod_resources.h"
#include "lab/demo_triggers.h"
#include "simulate/gpu_slot.h"
#include "wire/event_loop.h"
#include "workload/owner_names.h"
#include "workload/owner_references.h"

namespace gpuscaler {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class DemoServiceTest : public testing::Test {
 protected:
  void SetUp() override {
    auto service = DemoService::Open({.gpus = 3}, /*speed=*/1000);
    ASSERT_TRUE(service.ok()) << service.status();
    service_ = *std::move(service);
  }

  // Returns the pods with a GPU, from PodResources.
  std::vector<PodDevices> Holders() {
    auto pods =
        ListPodDevices(loop_, service_->kubelet().pod_resources_socket(), absl::Seconds(10));
    EXPECT_TRUE(pods.ok()) << pods.status();
    if (!pods.ok()) return {};
    std::erase_if(*pods, [](const PodDevices& pod) { return pod.devices.empty(); });
    return *std::move(pods);
  }

  // Returns the replicas, from the Pods API.
  std::vector<KubeletPod> Replicas() {
    auto pods = ListKubeletPods(loop_, service_->kubelet().pods_api_socket(), absl::Seconds(10));
    EXPECT_TRUE(pods.ok()) << pods.status();
    if (!pods.ok()) return {};
    const size_t all = pods->size();
    std::erase_if(*pods, [](const KubeletPod& pod) { return pod.name.starts_with("gateway-"); });
    EXPECT_EQ(all - pods->size(), 1) << "the gateway's pod is always there";
    return *std::move(pods);
  }

  void Scale(int replicas) {
    const absl::Status scaled = service_->Scale(replicas);
    ASSERT_TRUE(scaled.ok()) << scaled;
  }
  void Tick() {
    const absl::Status ticked = service_->Tick();
    ASSERT_TRUE(ticked.ok()) << ticked;
  }

  EventLoop loop_;
  std::unique_ptr<DemoService> service_;
};

TEST_F(DemoServiceTest, WithoutReplicasNoPodHoldsAGpu) {
  EXPECT_THAT(Holders(), IsEmpty());
  EXPECT_THAT(Replicas(), IsEmpty());
}

TEST_F(DemoServiceTest, EachReplicaIsAPodOfTheDeploymentWithAGpu) {
  Scale(2);
  const std::vector<PodDevices> holders = Holders();
  ASSERT_THAT(holders, SizeIs(2));
  for (int i = 0; i < 2; ++i) {
    const PodDevices& holder = holders[static_cast<size_t>(i)];
    EXPECT_EQ(holder.namespace_name, kDemoNamespace);
    EXPECT_THAT(OwnersByName(holder.name), Contains(PodOwner{"Deployment", kDemoName, ""}))
        << holder.name;
    ASSERT_THAT(holder.devices, SizeIs(1));
    EXPECT_EQ(holder.devices[0].resource, "nvidia.com/gpu");
    EXPECT_EQ(holder.devices[0].id, SimulatedGpuUuid(i));
  }
  const std::vector<KubeletPod> replicas = Replicas();
  ASSERT_THAT(replicas, SizeIs(2));
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(replicas[i].name, holders[i].name);
    EXPECT_THAT(OwnersByReference(replicas[i]), Contains(PodOwner{"Deployment", kDemoName, ""}));
    EXPECT_FALSE(replicas[i].ready) << "it still loads";
  }
}

TEST_F(DemoServiceTest, PodIsReadyOnceItsEngineServes) {
  Scale(1);
  ASSERT_TRUE(Eventually([this] {
    Tick();
    return service_->ready() == 1;
  }));
  const std::vector<KubeletPod> replicas = Replicas();
  ASSERT_THAT(replicas, SizeIs(1));
  EXPECT_TRUE(replicas[0].ready);
  EXPECT_EQ(service_->addresses()->Get(), std::vector<std::string>{replicas[0].address});
}

TEST_F(DemoServiceTest, EndedReplicaLeavesItsGpuToAnotherPod) {
  Scale(1);
  const std::vector<KubeletPod> before = Replicas();
  ASSERT_THAT(before, SizeIs(1));
  Scale(0);
  const std::vector<KubeletPod> ending = Replicas();
  ASSERT_THAT(ending, SizeIs(1));
  EXPECT_TRUE(ending[0].is_terminating);
  EXPECT_THAT(Holders(), SizeIs(1));
  Tick();
  EXPECT_THAT(Replicas(), IsEmpty());
  EXPECT_THAT(Holders(), IsEmpty());
  Scale(1);
  const std::vector<KubeletPod> after = Replicas();
  ASSERT_THAT(after, SizeIs(1));
  EXPECT_EQ(Holders().at(0).devices.at(0).id, SimulatedGpuUuid(0));
  EXPECT_NE(after[0].name, before[0].name);
  EXPECT_NE(after[0].uid, before[0].uid);
  EXPECT_NE(after[0].address, before[0].address);
}

}  // namespace
}  // namespace gpuscaler
