// AMD GPUs from a fake /sys, with their pods: `gpus` as a process.
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
