// AMD GPUs from a fake /sys, with their pods: `gpus` as a process.
#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/test_folder.h"
#include "gmock/gmock.h"
#include "gpu/test_amd_sysfs.h"
#include "gtest/gtest.h"
#include "kubelet/fake_kubelet.h"
#include "nlohmann/json.hpp"
#include "process.h"

namespace gpuscaler {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class AmdTest : public testing::Test {
 protected:
  Finished Run(const std::string& source, const Variables& variables = {}) const {
    return RunProgram(
        {"gpus", "--format=json", "--attribution=kubelet", absl::StrCat("--gpu-source=", source),
         absl::StrCat("--sysfs-root=", sysfs_.root()),
         absl::StrCat("--pod-resources-socket=", kubelet_.pod_resources_socket()),
         absl::StrCat("--pods-api-socket=", kubelet_.pods_api_socket())},
        variables);
  }
  json Gpus(const std::string& source, const Variables& variables = {}) const {
    const Finished gpus = Run(source, variables);
    EXPECT_EQ(gpus.code, 0) << gpus.err;
    const json page = json::parse(gpus.out, nullptr, false);
    return page.is_object() ? page["gpus"] : json::array();
  }
  // Returns the pod that holds the GPU; "": none.
  static std::string PodOf(const json& gpu) {
    const json& holders = gpu["holders"];
    return holders.is_array() && !holders.empty() ? holders[0]["pod"].get<std::string>() : "";
  }

  const TestFolder folder_;
  TestAmdSysfs sysfs_;
  FakeKubelet kubelet_{folder_.PathOf("sockets")};
};

TEST_F(AmdTest, PodHoldsTheGpuOfItsPciAddress) {
  sysfs_.AddMi210("0000:63:00.0", {.card = 1, .render_minor = 128});
  kubelet_.AddPod("shop", "web-0",
                  {{.container = "vllm", .resource = "amd.com/gpu", .id = "0000:63:00.0"}});
  const json gpus = Gpus("amd");
  ASSERT_EQ(gpus.size(), 1u);
  EXPECT_EQ(gpus[0]["uuid"], "1901e6b24a7a4ae6");
  EXPECT_EQ(gpus[0]["utilization_percent"], 71);
  EXPECT_EQ(gpus[0]["in_use"], true);
  EXPECT_EQ(PodOf(gpus[0]), "web-0");
}

TEST_F(AmdTest, PodsHoldPartitions) {
  sysfs_.AddMi300("0000:05:00.0", {.card = 1, .render_minor = 128}, "e3a9716b4cd5ab71", "DPX", 0);
  kubelet_.AddPod("shop", "web-0",
                  {{.container = "vllm", .resource = "amd.com/dpx_nps1", .id = "0000:05:00.0"}});
  kubelet_.AddPod("shop", "web-1",
                  {{.container = "vllm", .resource = "amd.com/dpx_nps1", .id = "amdgpu_xcp_0"}});
  const json gpus = Gpus("amd");
  ASSERT_EQ(gpus.size(), 3u);
  EXPECT_EQ(PodOf(gpus[0]), "") << "the whole GPU";
  EXPECT_EQ(PodOf(gpus[1]), "web-0");
  EXPECT_EQ(PodOf(gpus[2]), "web-1");
  EXPECT_EQ(gpus[2]["uuid"], "e3a9716b4cd5ab71/1");
  EXPECT_EQ(gpus[2]["parent_uuid"], "e3a9716b4cd5ab71");
}

// Runs rocm_smi.py. A failure without a mount namespace or the library has its reason.
json SecondReading(const std::string& sysfs) {
  const std::string command = absl::StrCat("python3 " ROCM_SMI_READER " ", sysfs, " 2>&1");
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return json::array();
  std::string out;
  char chunk[4096];
  while (const size_t size = fread(chunk, 1, sizeof(chunk), pipe)) out.append(chunk, size);
  EXPECT_EQ(pclose(pipe), 0) << out;
  const json gpus = json::parse(out, nullptr, false);
  return gpus.is_array() ? gpus : json::array();
}

// Debian's librocm_smi64 looks for card0, and for each GPU in KFD. It cannot read MI300's power.
TEST_F(AmdTest, ReadingsAreThoseOfRocmSmi) {
  sysfs_.AddMi210("0000:63:00.0", {.card = 0, .render_minor = 128});
  sysfs_.AddMi300("0000:65:00.0", {.card = 1, .render_minor = 136}, "e3a9716b4cd5ab71", "SPX", 0);
  sysfs_.AddCpuNode(0);
  sysfs_.AddGpuNode(
      1, {.gpu_id = 5, .render_minor = 128, .location_id = 0x6300, .memory_bytes = 68702699520});
  sysfs_.AddGpuNode(
      2, {.gpu_id = 6, .render_minor = 136, .location_id = 0x6500, .memory_bytes = 206141652992});
  for (const char* const busy : {"71", "12"}) {
    sysfs_.Set("0000:63:00.0", "gpu_busy_percent", busy);
    const json ours = Gpus("amd");
    const json theirs = SecondReading(sysfs_.root());
    ASSERT_EQ(ours.size(), 2u);
    ASSERT_EQ(theirs.size(), 2u) << theirs;
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(ours[i]["uuid"], theirs[i]["unique_id"]);
      EXPECT_EQ(ours[i]["utilization_percent"], theirs[i]["busy_percent"]);
      EXPECT_EQ(ours[i]["memory_utilization_percent"], theirs[i]["memory_busy_percent"]);
      EXPECT_EQ(ours[i]["memory_used_bytes"], theirs[i]["vram_used_bytes"]);
      EXPECT_EQ(ours[i]["memory_total_bytes"], theirs[i]["vram_total_bytes"]);
      EXPECT_EQ(ours[i]["power_limit_watts"],
                theirs[i]["power_cap_microwatts"].get<double>() / 1e6);
      EXPECT_EQ(ours[i]["temperature_celsius"],
                theirs[i]["junction_millidegrees"].get<double>() / 1e3);
    }
    EXPECT_EQ(ours[0]["power_watts"], theirs[0]["power_microwatts"].get<double>() / 1e6);
    EXPECT_TRUE(theirs[1]["power_microwatts"].is_null());
  }
}

TEST_F(AmdTest, AutoReadsBothVendors) {
  const std::string state = WriteTestFile(
      "both_vendors.json",
      R"({"driver_version": "550.54", "generation": 1, "gpus": [{"uuid": "GPU-a"}]})");
  sysfs_.AddMi210("0000:63:00.0", {.card = 1, .render_minor = 128});
  const json gpus =
      Gpus("auto", {{"LD_LIBRARY_PATH", FAKE_NVML_DIR "/new"}, {"FAKE_NVML_STATE", state}});
  ASSERT_EQ(gpus.size(), 2u);
  EXPECT_EQ(gpus[0]["uuid"], "GPU-a");
  EXPECT_EQ(gpus[0]["index"], 0);
  EXPECT_EQ(gpus[1]["uuid"], "1901e6b24a7a4ae6");
  EXPECT_EQ(gpus[1]["index"], 1);
}

TEST_F(AmdTest, NodeWithoutAnAmdGpuIsAnErrorWithItsFolder) {
  const Finished gpus = Run("amd");
  EXPECT_NE(gpus.code, 0);
  EXPECT_THAT(gpus.err, HasSubstr("no AMD GPU is in " + sysfs_.root()));
}

}  // namespace
}  // namespace gpuscaler
