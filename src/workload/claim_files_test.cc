#include "workload/claim_files.h"

#include "absl/strings/str_cat.h"
#include "base/test_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kClaimUid[] = "dab5ab50-d59a-42a6-af16-cfd4628c0f7a";
constexpr char kCheckpoint[] = "plugin/checkpoint.json";

std::string SpecOf(const std::string& device, const std::vector<std::string>& nodes) {
  std::string spec = absl::StrCat("cdiVersion: 0.5.0\nkind: k8s.gpu.nvidia.com/claim\ndevices:\n",
                                  "- name: ", device, "\n  containerEdits:\n    deviceNodes:\n");
  for (const std::string& node : nodes) absl::StrAppend(&spec, "    - path: ", node, "\n");
  return spec;
}

class ClaimFilesTest : public testing::Test {
 protected:
  static PodDevice Claimed(const std::string& id) {
    return {.container = "main",
            .resource = "gpu.nvidia.com",
            .id = id,
            .claim = "shop/gpus",
            .cdi_names = {absl::StrCat("k8s.gpu.nvidia.com/claim=", kClaimUid, "-", id)}};
  }

  void WriteSpec(const std::string& device, const std::vector<std::string>& nodes) const {
    folder_.Write(absl::StrCat("cdi/k8s.gpu.nvidia.com-claim_", kClaimUid, ".yaml"),
                  SpecOf(absl::StrCat(kClaimUid, "-", device), nodes));
  }

  void WriteCheckpoint(const std::string& device, const std::string& uuid, bool is_admin) const {
    folder_.Write(kCheckpoint,
                  absl::StrCat(R"({"v2":{"preparedClaims":{")", kClaimUid,
                               R"(":{"status":{"allocation":{"devices":{"results":[{"driver":)",
                               R"("gpu.nvidia.com","device":")", device, R"(","adminAccess":)",
                               is_admin ? "true" : "false", R"(}]}}},"preparedDevices":[{)",
                               R"("devices":[{"gpu":{"info":{"uuid":")", uuid,
                               R"("},"device":{"DeviceName":")", device, R"("}}}]}]}}}})"));
  }

  // The remaining devices of a pod with `device`.
  std::vector<PodDevice> Add(const PodDevice& device) {
    std::vector<PodDevices> pods = {{"shop", "web-0", {device}}};
    testing::internal::CaptureStderr();
    files_.AddTo(pods);
    log_ = testing::internal::GetCapturedStderr();
    return pods[0].devices;
  }

  std::vector<std::string> OtherIds(const PodDevice& device) {
    const std::vector<PodDevice> left = Add(device);
    return left.empty() ? std::vector<std::string>{"removed"} : left[0].other_ids;
  }

  const TestFolder folder_;
  ClaimFiles files_{{.proc = folder_.PathOf("proc"),
                     .cdi = folder_.PathOf("cdi"),
                     .dra_plugin = folder_.PathOf("plugin")}};
  std::string log_;
};

TEST_F(ClaimFilesTest, AbsentFilesAddNothingAndAreNotLogged) {
  EXPECT_THAT(OtherIds(Claimed("gpu-0")), IsEmpty());
  EXPECT_EQ(log_, "");
}

// Kubernetes creates the folder on a node without the driver.
TEST_F(ClaimFilesTest, FolderWithoutACheckpointIsLoggedOnceIfThereAreClaims) {
  folder_.AddFolder("plugin");
  PodDevice device = Claimed("gpu-0");
  device.resource = "compute-domain.nvidia.com";
  Add(device);
  EXPECT_EQ(log_, "") << "no device of the driver";
  Add(Claimed("gpu-0"));
  EXPECT_THAT(log_, HasSubstr(absl::StrCat("level=warn event=dra_checkpoint_absent path=",
                                           folder_.PathOf(kCheckpoint))));
  Add(Claimed("gpu-0"));
  EXPECT_EQ(log_, "");
  WriteCheckpoint("gpu-0", "GPU-b", false);
  EXPECT_THAT(OtherIds(Claimed("gpu-0")), ElementsAre("GPU-b"));
}

TEST_F(ClaimFilesTest, CdiNodesComeBeforeTheCheckpoint) {
  WriteSpec("gpu-0", {"/dev/nvidia3", "/dev/dri/card1", "/dev/nvidia-uvm"});
  WriteCheckpoint("gpu-0", "GPU-b", false);
  EXPECT_THAT(OtherIds(Claimed("gpu-0")), ElementsAre("nvidia3", "GPU-b"));
}

TEST_F(ClaimFilesTest, CapabilityOfTheGpuInstanceNamesTheInstance) {
  WriteSpec("gpu-1-mig-1g5gb-19-0",
            {"/dev/nvidia1", "/dev/nvidia-caps/nvidia-cap21", "/dev/nvidia-caps/nvidia-cap22"});
  folder_.Write("proc/driver/nvidia/capabilities/gpu1/mig/gi7/access",
                "DeviceFileMinor: 12\nDeviceFileMode: 292\n");
  folder_.Write("proc/driver/nvidia/capabilities/gpu1/mig/gi9/access",
                "DeviceFileMinor: 21\nDeviceFileMode: 292\n");
  EXPECT_THAT(OtherIds(Claimed("gpu-1-mig-1g5gb-19-0")), ElementsAre("nvidia1/gi9"));
}

TEST_F(ClaimFilesTest, InstanceWithoutItsCapabilityIsNotTheWholeGpu) {
  WriteSpec("gpu-1-mig-1g5gb-19-0", {"/dev/nvidia1", "/dev/nvidia-caps/nvidia-cap21"});
  EXPECT_THAT(OtherIds(Claimed("gpu-1-mig-1g5gb-19-0")), IsEmpty());
}

TEST_F(ClaimFilesTest, NodesOfSeveralGpusNameNone) {
  WriteSpec("gpu-0", {"/dev/nvidia0", "/dev/nvidia1"});
  EXPECT_THAT(OtherIds(Claimed("gpu-0")), IsEmpty());
}

// Until v25.8 a GPU that is not shared has its nodes in a file of all devices.
TEST_F(ClaimFilesTest, FileOfAllDevicesIsReadForNamesWithoutAClaim) {
  folder_.Write("cdi/k8s.gpu.nvidia.com-device_base.yaml", SpecOf("gpu-0", {"/dev/nvidia3"}));
  PodDevice device = Claimed("gpu-0");
  device.cdi_names = {"k8s.gpu.nvidia.com/device=gpu-0"};
  EXPECT_THAT(OtherIds(device), ElementsAre("nvidia3"));
}

TEST_F(ClaimFilesTest, CdiFileOfHamisDriverIsReadToo) {
  const char vendor[] = "k8s.hami-core-gpu.project-hami.io";
  folder_.Write(absl::StrCat("cdi/", vendor, "-claim_", kClaimUid, ".yaml"),
                SpecOf(absl::StrCat(kClaimUid, "-hami-gpu-0"), {"/dev/nvidia3"}));
  PodDevice device = Claimed("hami-gpu-0");
  device.resource = "hami-core-gpu.project-hami.io";
  device.cdi_names = {absl::StrCat(vendor, "/claim=", kClaimUid, "-hami-gpu-0")};
  EXPECT_THAT(OtherIds(device), ElementsAre("nvidia3"));
}

TEST_F(ClaimFilesTest, DeviceWithAdminAccessIsRemoved) {
  WriteCheckpoint("gpu-0", "GPU-b", true);
  EXPECT_THAT(Add(Claimed("gpu-0")), IsEmpty());
  EXPECT_THAT(OtherIds(Claimed("gpu-1")), IsEmpty()) << "another device of the claim";
  EXPECT_FALSE(Add(Claimed("gpu-1"))[0].is_held);
  WriteCheckpoint("gpu-0", "GPU-bb", false);
  EXPECT_THAT(OtherIds(Claimed("gpu-0")), ElementsAre("GPU-bb"));
  EXPECT_TRUE(Add(Claimed("gpu-0"))[0].is_held);
}

TEST_F(ClaimFilesTest, AdminAccessIsFoundByPodNameIfTheCdiNameHasNoClaim) {
  PodDevice device = Claimed("gpu-0");
  device.cdi_names = {"k8s.gpu.nvidia.com/device=gpu-0"};
  folder_.Write(kCheckpoint, R"({"v1":{"preparedClaims":{"x":{"status":{"allocation":{"devices":{
    "results":[{"driver":"gpu.nvidia.com","device":"gpu-0","adminAccess":true}]}},
    "reservedFor":[{"resource":"pods","name":"web-0"}]}}}}})");
  EXPECT_THAT(Add(device), IsEmpty());
  EXPECT_THAT(OtherIds(Claimed("gpu-0")), IsEmpty()) << "a claim that is not there";
}

TEST_F(ClaimFilesTest, DevicesOfOtherDriversAreUnchanged) {
  WriteCheckpoint("gpu-0", "GPU-b", true);
  PodDevice device = Claimed("gpu-0");
  device.resource = "compute-domain.nvidia.com";
  EXPECT_THAT(Add(device), ElementsAre(device));
}

TEST_F(ClaimFilesTest, FaultyFileIsLoggedOnceAndItsLastContentCounts) {
  WriteSpec("gpu-0", {"/dev/nvidia3"});
  WriteCheckpoint("gpu-0", "GPU-b", false);
  Add(Claimed("gpu-0"));
  folder_.Write(kCheckpoint, "{");
  EXPECT_THAT(OtherIds(Claimed("gpu-0")), ElementsAre("nvidia3", "GPU-b"));
  EXPECT_THAT(log_, HasSubstr("level=warn event=claim_file_unreadable path="));
  EXPECT_THAT(log_, HasSubstr("no checkpoint of NVIDIA's DRA driver"));
  Add(Claimed("gpu-0"));
  EXPECT_EQ(log_, "");
  folder_.Write(kCheckpoint, "{}");
  Add(Claimed("gpu-0"));
  EXPECT_THAT(log_, HasSubstr("event=claim_file_unreadable"));
  WriteCheckpoint("gpu-0", "GPU-ccc", false);
  EXPECT_THAT(OtherIds(Claimed("gpu-0")), ElementsAre("nvidia3", "GPU-ccc"));
}

TEST_F(ClaimFilesTest, FileThatIsTooLargeIsNotReadInPart) {
  folder_.Write(absl::StrCat("cdi/k8s.gpu.nvidia.com-claim_", kClaimUid, ".yaml"),
                absl::StrCat(SpecOf(absl::StrCat(kClaimUid, "-gpu-0"), {"/dev/nvidia3"}), "#",
                             std::string(1 << 20, 'x'), "\n"));
  EXPECT_THAT(OtherIds(Claimed("gpu-0")), IsEmpty());
  EXPECT_THAT(log_, HasSubstr("larger than 1048576 bytes"));
}

TEST_F(ClaimFilesTest, NameWithAPathInItReadsNoOtherFolder) {
  folder_.Write("other/spec.yaml", SpecOf("gpu-0", {"/dev/nvidia3"}));
  PodDevice device = Claimed("gpu-0");
  device.cdi_names = {"k8s.gpu.nvidia.com/claim=/../../other/spec.yaml-gpu-0",
                      "x/../../other/spec=gpu-0", "gpu-0", "=gpu-0", "/="};
  EXPECT_THAT(OtherIds(device), IsEmpty());
}

}  // namespace
}  // namespace gpuscaler
