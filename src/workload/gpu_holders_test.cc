#include "workload/gpu_holders.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

PodDevice Held(const std::string& id, const std::string& container = "main") {
  return {.container = container, .resource = "nvidia.com/gpu", .id = id};
}

// Pods with a device of the same name share the claim.
PodDevice Claimed(const std::string& id, const std::string& cdi = "k8s.gpu.nvidia.com/device=x") {
  return {.container = "main",
          .resource = "gpu.nvidia.com",
          .id = id,
          .claim = absl::StrCat("shop/claim-of-", id),
          .cdi_names = {cdi}};
}

AmbiguousDevice Unplaced(const std::string& pod, const std::string& id, std::vector<int> may_be,
                         const std::string& resource = "nvidia.com/gpu") {
  return {.pod = absl::StrCat("shop/", pod),
          .id = absl::StrCat(id, " of ", resource),
          .may_be = std::move(may_be)};
}

// A node with GPUs "GPU-sim-0" and so on.
class FillHoldersTest : public testing::Test {
 protected:
  explicit FillHoldersTest(int gpus = 2) {
    for (int i = 0; i < gpus; ++i) {
      GpuSample gpu;
      gpu.uuid = absl::StrCat("GPU-sim-", i);
      gpu.index = i;
      gpu.processes.emplace();
      snapshot_.gpus.push_back(std::move(gpu));
    }
  }

  void Add(const std::string& name, std::vector<PodDevice> devices) {
    PodAllocation pod = {.devices = std::move(devices)};
    pod.pod.listed_since = now_;
    pod.pod.namespace_name = "shop";
    pod.pod.name = name;
    pods_.push_back(std::move(pod));
  }

  // Adds a process of the pod on the GPU.
  void Run(int64_t pid, const std::string& pod, int gpu, std::optional<double> percent = {}) {
    snapshot_.gpus[gpu].processes->push_back({.pid = pid, .utilization_percent = percent});
    names_[pid] = absl::StrCat("shop/", pod);
  }

  std::vector<AmbiguousDevice> Fill() {
    return FillHolders(
        pods_, [this](int64_t pid) { return names_[pid]; }, snapshot_);
  }

  // "web-0/main=1", "web-0/main? web-1/main?"
  std::string Holders(int gpu) const {
    return absl::StrJoin(
        snapshot_.gpus[gpu].holders, " ", [this](std::string* text, const GpuHolder& holder) {
          absl::StrAppend(text, snapshot_.pods[holder.pod].name, "/", holder.container);
          absl::StrAppend(text, holder.is_possible ? "?" : absl::StrCat("=", holder.share));
        });
  }

  std::vector<std::string> Pods() const {
    std::vector<std::string> names;
    for (const Pod& pod : snapshot_.pods) names.push_back(pod.name);
    return names;
  }

  absl::Time now_ = absl::UnixEpoch();
  std::vector<PodAllocation> pods_;
  std::map<int64_t, std::string> names_;  // key: a process; value: its pod
  NodeSnapshot snapshot_;
};

class NodeOfThreeTest : public FillHoldersTest {
 protected:
  NodeOfThreeTest() : FillHoldersTest(3) {}
};

TEST_F(FillHoldersTest, DeviceIdNamesTheGpu) {
  Add("idle", {{.container = "main", .resource = "rdma/hca", .id = "mlx5_0"}});
  Add("web-0", {Held("GPU-sim-1")});
  EXPECT_THAT(Fill(), IsEmpty());
  EXPECT_EQ(Holders(0), "");
  EXPECT_EQ(Holders(1), "web-0/main=1");
  EXPECT_THAT(Pods(), ElementsAre("web-0"));
}

TEST_F(FillHoldersTest, PodMayHoldSeveralGpus) {
  Add("train-0", {Held("GPU-sim-0"), Held("GPU-sim-1")});
  EXPECT_THAT(Fill(), IsEmpty());
  EXPECT_EQ(Holders(0), "train-0/main=1");
  EXPECT_EQ(Holders(1), "train-0/main=1");
  EXPECT_THAT(Pods(), ElementsAre("train-0"));
}

TEST_F(FillHoldersTest, ContainersOfAPodShareItsPart) {
  Add("web-0", {Held("GPU-sim-0", "vllm"), Held("GPU-sim-0", "sidecar")});
  Fill();
  EXPECT_EQ(Holders(0), "web-0/vllm=0.5 web-0/sidecar=0.5");
}

TEST_F(FillHoldersTest, ReplicasOfOneGpuInAPodAreOneGpu) {
  Add("web-0", {Held("GPU-sim-0::0"), Held("GPU-sim-0::1")});
  Add("web-1", {Held("GPU-sim-0::2")});
  Fill();
  EXPECT_EQ(Holders(0), "web-0/main=0.5 web-1/main=0.5");
}

TEST_F(FillHoldersTest, SharedGpuIsDividedByTheUseOfItsProcesses) {
  Add("web-0", {Held("GPU-sim-0::0")});
  Add("web-1", {Held("GPU-sim-0::1")});
  Run(1, "web-0", 0, 60);
  Run(2, "web-1", 0, 20);
  Fill();
  EXPECT_EQ(Holders(0), "web-0/main=0.75 web-1/main=0.25");
}

// Kubelets before 1.34 list pods that have ended.
TEST_F(FillHoldersTest, PodWithAProcessHoldsInsteadOfItsPredecessor) {
  now_ += absl::Seconds(1);
  Add("job-bbbbb", {Held("GPU-sim-0")});
  now_ -= absl::Seconds(1);
  Add("job-ccccc", {Held("GPU-sim-0")});
  Run(1, "job-ccccc", 0);
  Fill();
  EXPECT_EQ(Holders(0), "job-ccccc/main=1");
}

TEST_F(FillHoldersTest, PodListedLastHoldsInsteadOfItsPredecessor) {
  Add("job-bbbbb", {Held("GPU-sim-0")});
  now_ += absl::Seconds(1);
  Add("job-ccccc", {Held("GPU-sim-0")});
  Fill();
  EXPECT_EQ(Holders(0), "job-ccccc/main=1");
}

// A pod that holds nothing would count as 0. Those that share a GPU stay known.
TEST_F(FillHoldersTest, PodOfAMissingGpuIsOnlyAPossibleHolderOfOthers) {
  const std::string id = "GPU-7a6bd0c9-9b4c-4a3f-8a9e-1f6a2d3c4b5a";
  Add("web-0", {Held(id)});
  Add("web-1", {Held("GPU-sim-1::0", "a"), Held("GPU-sim-1::0", "b")});
  EXPECT_THAT(Fill(), ElementsAre(Unplaced("web-0", id, {})));
  EXPECT_EQ(Holders(0), "web-0/main?");
  EXPECT_EQ(Holders(1), "web-1/a=0.5 web-1/b=0.5 web-0/main?");
}

TEST_F(FillHoldersTest, DeviceOfAnotherVendorIsNoGpu) {
  Add("web-0", {{.container = "main",
                 .resource = "example.com/gpu",
                 .id = "GPU-7a6bd0c9-9b4c-4a3f-8a9e-1f6a2d3c4b5a"}});
  EXPECT_THAT(Fill(), IsEmpty());
  EXPECT_THAT(Pods(), IsEmpty());
}

TEST_F(FillHoldersTest, HiddenInstancesBelongToTheGpuInMigMode) {
  for (const int i : {0, 1}) snapshot_.gpus[i].minor_number = i;
  snapshot_.gpus[0].is_in_mig_mode = true;
  const std::string uuid = "MIG-4f1d3a2b-0000-1111-2222-333344445555";
  Add("plugin", {Held(uuid)});
  Add("claim", {Claimed("gpu-0-mig-1g5gb-19-0")});
  Add("whole", {Held("GPU-sim-1")});
  Run(1, "claim", 0);
  EXPECT_THAT(Fill(),
              ElementsAre(Unplaced("plugin", uuid, {0}),
                          Unplaced("claim", "gpu-0-mig-1g5gb-19-0", {0}, "gpu.nvidia.com")));
  EXPECT_EQ(Holders(0), "plugin/main? claim/main?") << "the GPU itself is no instance";
  EXPECT_EQ(Holders(1), "whole/main=1");
}

TEST_F(FillHoldersTest, GpuThatNeverAnsweredIsHeldByThePodOfAMissingGpu) {
  snapshot_.gpus[1].uuid = UnknownGpuUuid(1);
  Add("web-0", {Held("GPU-sim-0")});
  Add("web-1", {Held("GPU-sim-1")});
  EXPECT_THAT(Fill(), ElementsAre(Unplaced("web-1", "GPU-sim-1", {1})));
  EXPECT_EQ(Holders(0), "web-0/main=1");
  EXPECT_EQ(Holders(1), "web-1/main?");
}

TEST_F(FillHoldersTest, PodsThatShareAGpuThatNeverAnsweredAllHoldIt) {
  snapshot_.gpus[1].uuid = UnknownGpuUuid(1);
  Add("web-0", {Held("GPU-sim-1::0")});
  Add("web-1", {Held("GPU-sim-1::1")});
  Fill();
  EXPECT_EQ(Holders(1), "web-0/main? web-1/main?");
}

// Nothing shows which is which, whatever the order of the kubelet's list.
TEST_F(NodeOfThreeTest, GpusThatNeverAnsweredHaveAllPossibleHolders) {
  snapshot_.gpus[0].uuid = UnknownGpuUuid(0);
  snapshot_.gpus[1].uuid = UnknownGpuUuid(1);
  Add("web-1", {Held("GPU-sim-1")});
  Add("known", {Held("GPU-sim-2")});
  Add("web-0", {Held("GPU-sim-0")});
  EXPECT_THAT(Fill(), ElementsAre(Unplaced("web-1", "GPU-sim-1", {0, 1}),
                                  Unplaced("web-0", "GPU-sim-0", {0, 1})));
  EXPECT_EQ(Holders(0), "web-1/main? web-0/main?");
  EXPECT_EQ(Holders(1), "web-1/main? web-0/main?");
  EXPECT_EQ(Holders(2), "known/main=1");
}

TEST_F(FillHoldersTest, PodOfAMissingGpuMayHoldTheOneThatNeverAnswered) {
  snapshot_.gpus[1].uuid = UnknownGpuUuid(1);
  Add("on-the-gone", {Held("GPU-sim-7")});
  Add("web-1", {Held("GPU-sim-1")});
  EXPECT_THAT(Fill(), ElementsAre(Unplaced("on-the-gone", "GPU-sim-7", {1}),
                                  Unplaced("web-1", "GPU-sim-1", {1})));
  EXPECT_EQ(Holders(1), "on-the-gone/main? web-1/main?");
}

TEST_F(FillHoldersTest, MissingInstanceMayBelongToTheGpuThatNeverAnswered) {
  snapshot_.gpus[1].uuid = UnknownGpuUuid(1);
  Add("web-0", {Held("MIG-sim-1-0")});
  EXPECT_THAT(Fill(), ElementsAre(Unplaced("web-0", "MIG-sim-1-0", {1})));
  EXPECT_EQ(Holders(1), "web-0/main?");
}

TEST_F(FillHoldersTest, OnlyTheSuccessorMayHoldGpusThatNeverAnswered) {
  for (const int i : {0, 1}) snapshot_.gpus[i].uuid = UnknownGpuUuid(i);
  Add("job-bbbbb", {Held("GPU-sim-0")});
  now_ += absl::Seconds(1);
  Add("job-ccccc", {Held("GPU-sim-0")});
  EXPECT_THAT(Fill(), ElementsAre(Unplaced("job-ccccc", "GPU-sim-0", {0, 1})));
  EXPECT_THAT(Pods(), ElementsAre("job-ccccc"));
}

TEST_F(FillHoldersTest, UnknownMinorNumberIsTheGpuThatNeverAnsweredIfTheOtherIsHeld) {
  snapshot_.gpus[1].uuid = UnknownGpuUuid(1);
  Add("web-0", {Held("GPU-sim-0")});
  Add("web-1", {Claimed("gpu-1")});
  EXPECT_THAT(Fill(), ElementsAre(Unplaced("web-1", "gpu-1", {1}, "gpu.nvidia.com")));
  EXPECT_EQ(Holders(0), "web-0/main=1");
  EXPECT_EQ(Holders(1), "web-1/main?");
}

TEST_F(FillHoldersTest, UnknownMinorNumberMayBeAnyGpuWithoutANumber) {
  snapshot_.gpus[1].uuid = UnknownGpuUuid(1);
  Add("web-1", {Claimed("gpu-1")});
  EXPECT_THAT(Fill(), ElementsAre(Unplaced("web-1", "gpu-1", {0, 1}, "gpu.nvidia.com")));
  EXPECT_EQ(Holders(0), "web-1/main?");
  EXPECT_EQ(Holders(1), "web-1/main?");
  EXPECT_THAT(Pods(), ElementsAre("web-1"));
}

TEST_F(NodeOfThreeTest, DraDeviceIsTheGpuWithItsMinorNumber) {
  for (const int i : {0, 1, 2}) snapshot_.gpus[i].minor_number = 2 - i;
  Add("web-0", {Claimed("gpu-0")});
  Add("web-1", {Claimed("gpu-1")});
  EXPECT_THAT(Fill(), IsEmpty());
  EXPECT_EQ(Holders(0), "");
  EXPECT_EQ(Holders(1), "web-1/main=1");
  EXPECT_EQ(Holders(2), "web-0/main=1");
}

TEST_F(NodeOfThreeTest, UnknownNameMayBeAnyGpuThatNoOtherPodHolds) {
  snapshot_.gpus[0].minor_number = 0;
  Add("web-0", {Claimed("gpu-0")});
  Add("web-1", {Claimed("slice-7")});
  Add("web-2", {Held("GPU-sim-1")});
  EXPECT_THAT(Fill(), ElementsAre(Unplaced("web-1", "slice-7", {2}, "gpu.nvidia.com")));
  EXPECT_EQ(Holders(0), "web-0/main=1");
  EXPECT_EQ(Holders(1), "web-2/main=1");
  EXPECT_EQ(Holders(2), "web-1/main?");
}

TEST_F(FillHoldersTest, DraInstanceMayBeAnyInstanceOfItsGpu) {
  for (const int i : {0, 1}) snapshot_.gpus[i].minor_number = i;
  for (const int instance : {3, 4, 5}) {
    GpuSample gpu = snapshot_.gpus[0];
    gpu.uuid = absl::StrCat("MIG-sim-0-", instance);
    gpu.parent_uuid = "GPU-sim-0";
    gpu.gpu_instance = instance;
    snapshot_.gpus.push_back(gpu);
  }
  Add("web-0", {Held("MIG-sim-0-4")});
  Add("web-1", {Claimed("gpu-0-mig-1g5gb-19-0")});
  EXPECT_THAT(Fill(),
              ElementsAre(Unplaced("web-1", "gpu-0-mig-1g5gb-19-0", {2, 4}, "gpu.nvidia.com")));
  EXPECT_EQ(Holders(0), "");
  EXPECT_EQ(Holders(1), "");
  EXPECT_EQ(Holders(2), "web-1/main?");
  EXPECT_EQ(Holders(3), "web-0/main=1");
  EXPECT_EQ(Holders(4), "web-1/main?");
}

TEST_F(FillHoldersTest, DeviceOfAnotherVendorHasNoHolder) {
  Add("web-0", {{.container = "main", .resource = "amd.com/gpu", .id = "0000:19:00.0"}});
  EXPECT_THAT(Fill(), IsEmpty());
}

TEST_F(FillHoldersTest, BothVendorsOfANodeHaveTheirHolders) {
  snapshot_.gpus[1].uuid = "1901e6b24a7a4ae6";
  snapshot_.gpus[1].device_ids = {"card1", "0000:19:00.0", "renderD128"};
  Add("web-0", {{.container = "main", .resource = "amd.com/gpu", .id = "0000:19:00.0"}});
  Add("web-1", {Held("GPU-sim-0")});
  EXPECT_THAT(Fill(), IsEmpty());
  EXPECT_EQ(Holders(0), "web-1/main=1");
  EXPECT_EQ(Holders(1), "web-0/main=1");
}

TEST_F(FillHoldersTest, UnknownDeviceOfAVendorMayBeItsGpusAlone) {
  snapshot_.gpus[1].uuid = "1901e6b24a7a4ae6";
  snapshot_.gpus[1].device_ids = {"card1", "0000:19:00.0", "renderD128"};
  Add("web-0", {{.container = "main", .resource = "amd.com/gpu", .id = "0000:c1:00.0"}});
  Add("web-1", {Held("nvidia7")});
  EXPECT_THAT(Fill(), testing::SizeIs(2));
  EXPECT_EQ(Holders(1), "web-0/main?");
  EXPECT_EQ(Holders(0), "web-1/main?");
}

TEST_F(FillHoldersTest, UuidOfAClaimsCdiDeviceNamesTheGpu) {
  const char uuid[] = "GPU-7a6bd0c9-9b4c-4a3f-8a9e-1f6a2d3c4b5a";
  snapshot_.gpus[1].uuid = uuid;
  Add("web-0", {Claimed("gpu-0", absl::StrCat("k8s.gpu.nvidia.com/device=", uuid))});
  EXPECT_THAT(Fill(), IsEmpty());
  EXPECT_EQ(Holders(1), "web-0/main=1");
}

TEST_F(FillHoldersTest, IdOfAVirtualGpuNamesNoGpu) {
  const std::string uuid = "GPU-7a6bd0c9-9b4c-4a3f-8a9e-1f6a2d3c4b5a";
  snapshot_.gpus[1].uuid = uuid;
  Add("web-0", {Held(uuid + "-3")});
  EXPECT_THAT(Fill(), ElementsAre(Unplaced("web-0", uuid + "-3", {0, 1})));
  EXPECT_EQ(Holders(0), "web-0/main?");
  EXPECT_EQ(Holders(1), "web-0/main?");
}

TEST_F(NodeOfThreeTest, VirtualGpuMayBeAFreeOrASharedOne) {
  Add("whole", {Held("GPU-sim-0")});
  Add("shares", {Held("GPU-sim-1::0")});
  Add("web-0", {Held("GPU-7a6bd0c9-9b4c-4a3f-8a9e-1f6a2d3c4b5a-3")});
  Fill();
  EXPECT_EQ(Holders(0), "whole/main=1");
  EXPECT_EQ(Holders(1), "shares/main? web-0/main?");
  EXPECT_EQ(Holders(2), "web-0/main?");
}

TEST_F(FillHoldersTest, ProcessOfThePodShowsItsClaimedGpu) {
  Add("web-0", {Claimed("gpu-0")});
  Add("web-1", {Claimed("gpu-1")});
  Run(1, "web-0", 1);
  Run(2, "web-1", 0);
  EXPECT_THAT(Fill(), IsEmpty());
  EXPECT_EQ(Holders(0), "web-1/main=1");
  EXPECT_EQ(Holders(1), "web-0/main=1");
}

TEST_F(FillHoldersTest, PodsOfOneClaimShareTheGpu) {
  Add("web-0", {Claimed("gpu-0")});
  Add("web-1", {Claimed("gpu-0")});
  Run(1, "web-0", 1);
  Run(2, "web-1", 1);
  EXPECT_THAT(Fill(), IsEmpty());
  EXPECT_EQ(Holders(1), "web-0/main=0.5 web-1/main=0.5");
}

// Two claims may share the only GPU of a node: each has all of them.
TEST_F(FillHoldersTest, ClaimsOfAllGpusWithoutAdminAccessShareThem) {
  for (const int i : {0, 1}) snapshot_.gpus[i].minor_number = i;
  const auto all = [](const std::string& claim, bool is_held) {
    std::vector<PodDevice> devices = {Claimed("gpu-0"), Claimed("gpu-1")};
    for (PodDevice& device : devices) {
      device.claim = claim;
      device.is_held = is_held;
    }
    return devices;
  };
  Add("engine-a", all("shop/a", true));
  Add("engine-b", all("shop/b", true));
  Add("exporter", all("shop/exporter", false));
  for (PodAllocation& pod : pods_) {
    pod.pod.owners = {{.kind = "DaemonSet", .name = "engine", .group = ""}};
  }
  Run(1, "engine-a", 0);
  EXPECT_THAT(Fill(), IsEmpty());
  EXPECT_EQ(Holders(0), "engine-a/main=0.5 engine-b/main=0.5");
  EXPECT_EQ(Holders(1), "engine-a/main=0.5 engine-b/main=0.5");
}

TEST_F(FillHoldersTest, UnknownNameKeepsKnownHoldersOfAllGpus) {
  Add("web-0", {Held("GPU-sim-0"), Held("GPU-sim-1")});
  Add("web-1", {Claimed("gpu-0")});
  EXPECT_THAT(Fill(), ElementsAre(Unplaced("web-1", "gpu-0", {0, 1}, "gpu.nvidia.com")));
  EXPECT_EQ(Holders(0), "web-0/main=1 web-1/main?");
  EXPECT_EQ(Holders(1), "web-0/main=1 web-1/main?");
}

// dcgm-exporter's page has no UUIDs of instances.
TEST_F(FillHoldersTest, InstanceMayBeAnyWithoutAUuid) {
  GpuSample instance;
  instance.uuid = "MIG-GPU-sim-0/7";
  instance.parent_uuid = "GPU-sim-0";
  snapshot_.gpus.Own().insert(snapshot_.gpus.begin() + 1, instance);
  Add("web-0", {Held("MIG-4f1d3a2b-0000-1111-2222-333344445555")});
  EXPECT_THAT(Fill(),
              ElementsAre(Unplaced("web-0", "MIG-4f1d3a2b-0000-1111-2222-333344445555", {1})));
  EXPECT_EQ(Holders(1), "web-0/main?");
  EXPECT_EQ(Holders(2), "");
}

TEST_F(FillHoldersTest, MigInstanceIsHeldAndItsGpuIsNot) {
  GpuSample instance;
  instance.uuid = "MIG-sim-0-0";
  instance.parent_uuid = "GPU-sim-0";
  snapshot_.gpus.Own().insert(snapshot_.gpus.begin() + 1, instance);
  Add("web-0", {Held("MIG-sim-0-0")});
  Add("web-1", {Held("GPU-sim-1")});
  Add("web-2", {Claimed("gpu-0")});
  EXPECT_THAT(Fill(), ElementsAre(Unplaced("web-2", "gpu-0", {0, 2}, "gpu.nvidia.com")));
  EXPECT_EQ(Holders(0), "web-2/main?");
  EXPECT_EQ(Holders(1), "web-0/main=1");
  EXPECT_EQ(Holders(2), "web-1/main=1 web-2/main?");
}

}  // namespace
}  // namespace gpuscaler
