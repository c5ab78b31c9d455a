// Pods with claims of NVIDIA's DRA driver, from the kubelet's list to the holders of each GPU.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "workload/test_attributed_node.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr char kClaim0[] = "dab5ab50-d59a-42a6-af16-cfd4628c0f7a";
constexpr char kClaim1[] = "eab5ab50-d59a-42a6-af16-cfd4628c0f7a";

// GPU-sim-0 and GPU-sim-1 have the minors 1 and 0.
class DraClaimsTest : public AttributedNode {
 protected:
  DraClaimsTest() { minors_ = {{"GPU-sim-0", 1}, {"GPU-sim-1", 0}}; }

  static PodDevice Claimed(const std::string& uid, const std::string& id) {
    return {.container = "main",
            .resource = "gpu.nvidia.com",
            .id = id,
            .claim = absl::StrCat("shop/claim-", uid),
            .cdi_names = {absl::StrCat("k8s.gpu.nvidia.com/claim=", uid, "-", id)}};
  }

  void WriteSpec(const std::string& uid, const std::string& id,
                 const std::vector<std::string>& nodes) const {
    const auto path = [](std::string* text, const std::string& node) {
      absl::StrAppend(text, "{path: ", node, "}");
    };
    folder_.Write(
        absl::StrCat("cdi/k8s.gpu.nvidia.com-claim_", uid, ".yaml"),
        absl::StrCat("devices: [{name: ", uid, "-", id, ", containerEdits: {deviceNodes: [",
                     absl::StrJoin(nodes, ", ", path), "]}}]\n"));
  }

  // `device`: {"gpu": ...} or {"mig": ...}.
  void WriteCheckpoint(const std::string& uid, const std::string& id, bool is_admin,
                       const std::string& device = "{}") const {
    folder_.Write("plugin/checkpoint.json",
                  absl::StrCat(R"({"v2":{"preparedClaims":{")", uid,
                               R"(":{"status":{"allocation":{"devices":{"results":[{"driver":)",
                               R"("gpu.nvidia.com","device":")", id, R"(","adminAccess":)",
                               is_admin ? "true" : "false", R"(}]}}},"preparedDevices":[{)",
                               R"("devices":[)", device, "]}]}}}}"));
  }

  void AddInstance(const std::string& uuid, int gpu_instance) {
    GpuSample instance;
    instance.uuid = uuid;
    instance.parent_uuid = "GPU-sim-0";
    instance.index = 0;
    instance.minor_number = 1;
    instance.gpu_instance = gpu_instance;
    instances_.push_back(std::move(instance));
  }

  // Returns "web-0, web-0? web-1?, -": the holders of GPU-sim-0, GPU-sim-1 and each instance.
  std::string Holders() {
    Query();
    const NodeSnapshot snapshot = Read();
    EXPECT_EQ(snapshot.attribution.state, State::kKnown) << snapshot.attribution.why;
    why_ = snapshot.attribution.why;
    return absl::StrJoin(snapshot.gpus, ", ", [&](std::string* text, const GpuSample& gpu) {
      if (gpu.holders.empty()) absl::StrAppend(text, "-");
      absl::StrAppend(text, absl::StrJoin(gpu.holders, " ", [&](std::string* name, const auto& of) {
                        absl::StrAppend(name, snapshot.pods[of.pod].name,
                                        of.is_possible ? "?" : "");
                      }));
    });
  }

  std::string why_;
};

TEST_F(DraClaimsTest, PodWithoutAProcessYetHoldsTheGpuWithItsMinor) {
  kubelet_.AddPod("shop", "pulling", {Claimed(kClaim0, "gpu-0")});
  kubelet_.AddPod("shop", "web-0", {Claimed(kClaim1, "gpu-1")});
  EXPECT_EQ(Holders(), "web-0, pulling");
  EXPECT_EQ(why_, "");
  EXPECT_THAT(log_, Not(HasSubstr("device_unmatched")));
}

TEST_F(DraClaimsTest, ClaimOfTwoDevicesHoldsBoth) {
  kubelet_.AddPod("shop", "train-0", {Claimed(kClaim0, "gpu-0"), Claimed(kClaim0, "gpu-1")});
  WriteSpec(kClaim0, "gpu-0", {"/dev/nvidia0"});
  EXPECT_EQ(Holders(), "train-0, train-0");
}

// The scheduler creates the claim of a pod that requests nvidia.com/gpu (extendedResourceName).
TEST_F(DraClaimsTest, ExtendedResourceIsAClaimLikeAnyOther) {
  PodDevice device = Claimed(kClaim0, "gpu-0");
  device.claim = "shop/web-0-extended-resources-x7k2p";
  kubelet_.AddPod("shop", "web-0", {device});
  EXPECT_EQ(Holders(), "-, web-0");
}

TEST_F(DraClaimsTest, CdiNodesOverrideTheNumberInTheName) {
  kubelet_.AddPod("shop", "web-0", {Claimed(kClaim0, "gpu-0")});
  WriteSpec(kClaim0, "gpu-0", {"/dev/nvidia1"});
  WriteCheckpoint(kClaim0, "gpu-0", false,
                  R"({"gpu":{"info":{"uuid":"GPU-sim-1"},"device":{"DeviceName":"gpu-0"}}})");
  EXPECT_EQ(Holders(), "web-0, -");
}

TEST_F(DraClaimsTest, CheckpointNamesTheGpuIfMinorNumbersAreUnknown) {
  minors_.clear();
  kubelet_.AddPod("shop", "web-0", {Claimed(kClaim0, "gpu-0")});
  EXPECT_EQ(Holders(), "web-0?, web-0?");
  EXPECT_EQ(why_, "shop/web-0 holds gpu-0 of gpu.nvidia.com, which may be one of GPUs 0, 1");
  WriteCheckpoint(kClaim0, "gpu-0", false,
                  R"({"gpu":{"info":{"uuid":"GPU-sim-1"},"device":{"DeviceName":"gpu-0"}}})");
  EXPECT_EQ(Holders(), "-, web-0");
}

TEST_F(DraClaimsTest, InstanceIsKnownByItsCapabilityOrItsUuid) {
  AddInstance("MIG-a", 3);
  AddInstance("MIG-b", 4);
  const std::string id = "gpu-1-mig-1g5gb-19-0";
  kubelet_.AddPod("shop", "web-0", {Claimed(kClaim0, id)});
  kubelet_.AddPod("shop", "web-1", {Claimed(kClaim1, "gpu-0")});
  EXPECT_EQ(Holders(), "-, web-1, web-0?, web-0?");
  EXPECT_EQ(why_, absl::StrCat("shop/web-0 holds ", id,
                               " of gpu.nvidia.com, which may be an instance of GPU 0"));
  WriteCheckpoint(kClaim0, id, false,
                  absl::StrCat(R"({"mig":{"concrete":{"migUUID":"MIG-b"},"device":{"DeviceName":")",
                               id, R"("}}})"));
  EXPECT_EQ(Holders(), "-, web-1, -, web-0");
  WriteSpec(kClaim0, id, {"/dev/nvidia1", "/dev/nvidia-caps/nvidia-cap30"});
  folder_.Write("proc/driver/nvidia/capabilities/gpu1/mig/gi3/access", "DeviceFileMinor: 30\n");
  EXPECT_EQ(Holders(), "-, web-1, web-0, -");
}

TEST_F(DraClaimsTest, ClaimsOfHamisDriverShareTheGpuWithTheirMinor) {
  const auto claimed = [](const char* uid) {
    PodDevice device = Claimed(uid, "hami-gpu-0");
    device.resource = "hami-core-gpu.project-hami.io";
    return device;
  };
  kubelet_.AddPod("shop", "web-0", {claimed(kClaim0)});
  kubelet_.AddPod("shop", "web-1", {claimed(kClaim1)});
  EXPECT_EQ(Holders(), "-, web-0 web-1");
}

TEST_F(DraClaimsTest, MonitoringClaimHoldsNothingByTheCheckpoint) {
  kubelet_.AddPod("gpu-operator", "exporter-x7k2p", {Claimed(kClaim0, "gpu-0")});
  kubelet_.AddPod("shop", "web-0", {Claimed(kClaim1, "gpu-0")});
  WriteCheckpoint(kClaim0, "gpu-0", true);
  EXPECT_EQ(Holders(), "-, web-0");
}

TEST_F(DraClaimsTest, MonitoringClaimHoldsNothingIfADaemonSetOwnsThePod) {
  kubelet_.ServePodsApi(true);
  const KubeletPod reported = {.uid = kUid0, .owner_references = {{"DaemonSet", "exporter", true}}};
  kubelet_.SetPods({{.devices = {"gpu-operator",
                                 "exporter-x7k2p",
                                 {Claimed(kClaim0, "gpu-0"), Claimed(kClaim0, "gpu-1")}},
                     .of_api = reported}});
  EXPECT_EQ(Holders(), "-, -");
}

TEST_F(DraClaimsTest, MonitoringPodOfANodeWithAGpuInMigModeHoldsNothing) {
  AddInstance("MIG-a", 3);
  kubelet_.ServePodsApi(true);
  PodDevice instances = Claimed(kClaim0, "gpu-1-mig-1g5gb-19-0");
  instances.claim = "gpu-operator/instances";
  kubelet_.SetPods(
      {{.devices = {"gpu-operator", "exporter-x7k2p", {Claimed(kClaim0, "gpu-0"), instances}},
        .of_api = {.uid = kUid0, .owner_references = {{"DaemonSet", "exporter", true}}}},
       {.devices = {"shop", "web-0", {Claimed(kClaim1, "gpu-0")}}, .of_api = {.uid = kUid1}}});
  EXPECT_EQ(Holders(), "-, web-0, -");
}

// The names "exporter-x7k2p" and "train-c4d5f" may be those of a DaemonSet's pods, or a Job's.
TEST_F(DraClaimsTest, ClaimOfAllGpusHoldsNoneThatASmallerClaimNames) {
  kubelet_.AddPod("gpu-operator", "exporter-x7k2p",
                  {Claimed(kClaim0, "gpu-0"), Claimed(kClaim0, "gpu-1")});
  kubelet_.AddPod("shop", "train-c4d5f", {Claimed(kClaim1, "gpu-0")});
  EXPECT_EQ(Holders(), "exporter-x7k2p, train-c4d5f");
}

TEST_F(DraClaimsTest, ClaimOfAllGpusHoldsThemUnlessThePodNameIsOfADaemonSet) {
  kubelet_.AddPod("gpu-operator", "exporter-x7k2p",
                  {Claimed(kClaim0, "gpu-0"), Claimed(kClaim0, "gpu-1")});
  kubelet_.AddPod("shop", "train-0", {Claimed(kClaim1, "gpu-0"), Claimed(kClaim1, "gpu-1")});
  EXPECT_EQ(Holders(), "train-0, train-0");
}

TEST_F(DraClaimsTest, ClaimOfAllGpusHoldsThemIfItsPodHasProcesses) {
  kubelet_.ServePodsApi(true);
  kubelet_.SetPods(
      {{.devices = {"gpu-operator",
                    "exporter-x7k2p",
                    {Claimed(kClaim0, "gpu-0"), Claimed(kClaim0, "gpu-1")}},
        .of_api = {.uid = kUid0}},
       {.devices = {"shop", "train-c4d5f", {Claimed(kClaim1, "gpu-0"), Claimed(kClaim1, "gpu-1")}},
        .of_api = {.uid = kUid1}}});
  kubelet_.ServePodsApi(false);
  EXPECT_EQ(Holders(), "exporter-x7k2p? train-c4d5f?, exporter-x7k2p? train-c4d5f?");
  EXPECT_THAT(why_, HasSubstr("which may be GPU"));
  kubelet_.ServePodsApi(true);
  RunProcess(100, kUid1);
  processes_["GPU-sim-0"] = {{.pid = 100}};
  EXPECT_EQ(Holders(), "train-c4d5f, exporter-x7k2p? train-c4d5f?");
}

TEST_F(DraClaimsTest, ClaimsThatShareADeviceHoldItTogetherIfNoneHasAllGpus) {
  kubelet_.AddPod("shop", "web-0", {Claimed(kClaim0, "gpu-0")});
  kubelet_.AddPod("shop", "web-1", {Claimed(kClaim1, "gpu-0")});
  EXPECT_EQ(Holders(), "-, web-0 web-1");
}

TEST_F(DraClaimsTest, ClaimOfAllGpusHoldsThemUnlessADaemonSetOwnsThePod) {
  kubelet_.ServePodsApi(true);
  kubelet_.SetPods(
      {{.devices = {"shop", "train-c4d5f", {Claimed(kClaim0, "gpu-0"), Claimed(kClaim0, "gpu-1")}},
        .of_api = {.uid = kUid0, .owner_references = {{"Job", "train", true}}}},
       {.devices = {"shop", "web-0", {Claimed(kClaim1, "gpu-0")}}, .of_api = {.uid = kUid1}}});
  RunProcess(100, kUid1);
  processes_["GPU-sim-1"] = {{.pid = 100}};
  EXPECT_EQ(Holders(), "train-c4d5f, train-c4d5f web-0");
}

TEST_F(DraClaimsTest, DevicesThatAreNoGpusMatchNone) {
  PodDevice channel = Claimed(kClaim0, "channel-0");
  channel.resource = "compute-domain.nvidia.com";
  kubelet_.AddPod("shop", "domain", {channel});
  kubelet_.AddPod("shop", "virtual-machine", {Claimed(kClaim1, "gpu-vfio-0")});
  EXPECT_EQ(Holders(), "-, -");
  EXPECT_EQ(why_, "");
}

}  // namespace
}  // namespace gpuscaler
