#include "gpu/gpu_file.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

// The text must have no "frames".
absl::StatusOr<NodeSnapshot> ParseNode(absl::string_view text) {
  auto frames = ParseGpuFile(text);
  if (!frames.ok()) return frames.status();
  EXPECT_EQ(frames->size(), 1);
  EXPECT_EQ(frames->at(0).duration, absl::InfiniteDuration());
  return frames->at(0).snapshot;
}

TEST(GpuFile, ReadsEveryKey) {
  const auto node = ParseNode(R"({"driver_version": "550.54", "gpus": [{
    "index": 3, "uuid": "GPU-a", "name": "H200", "link_group": "nvlink-0",
    "utilization_percent": 98.9,
    "memory_utilization_percent": 40, "memory_used_bytes": 70000000000,
    "memory_total_bytes": 150000000000, "temperature_celsius": 61, "power_watts": 512.5,
    "power_limit_watts": 700, "pcie_tx_kbps": 11, "pcie_rx_kbps": 12, "nvlink_tx_mbps": 13,
    "nvlink_rx_mbps": 14, "sm_activity_percent": 71.5, "dram_activity_percent": 62,
    "tensor_activity_percent": 0, "processes": [{"pid": 42, "memory_bytes": 1024, "utilization_percent": 60},
                                             {"pid": 43}],
    "ecc_uncorrected_errors": 2, "throttle_reasons": 4}]})");
  ASSERT_TRUE(node.ok()) << node.status();
  EXPECT_EQ(node->driver_version, "550.54");
  ASSERT_EQ(node->gpus.size(), 1);
  const GpuSample& gpu = node->gpus[0];
  EXPECT_EQ(gpu.index, 3);
  EXPECT_EQ(gpu.uuid, "GPU-a");
  EXPECT_EQ(gpu.name, "H200");
  EXPECT_EQ(gpu.link_group, "nvlink-0");
  EXPECT_EQ(gpu.utilization_percent, 98.9);
  EXPECT_EQ(gpu.memory_utilization_percent, 40);
  EXPECT_EQ(gpu.memory_used_bytes, 70'000'000'000);
  EXPECT_EQ(gpu.memory_total_bytes, 150'000'000'000);
  EXPECT_EQ(gpu.temperature_celsius, 61);
  EXPECT_EQ(gpu.power_watts, 512.5);
  EXPECT_EQ(gpu.power_limit_watts, 700);
  EXPECT_EQ(gpu.pcie_tx_kbps, 11);
  EXPECT_EQ(gpu.pcie_rx_kbps, 12);
  EXPECT_EQ(gpu.nvlink_tx_mbps, 13);
  EXPECT_EQ(gpu.nvlink_rx_mbps, 14);
  EXPECT_EQ(gpu.sm_activity_percent, 71.5);
  EXPECT_EQ(gpu.dram_activity_percent, 62);
  EXPECT_EQ(gpu.tensor_activity_percent, 0);
  EXPECT_EQ(gpu.ecc_uncorrected_errors, 2);
  EXPECT_EQ(gpu.throttle_reasons, 4);
  ASSERT_EQ(gpu.processes->size(), 2);
  EXPECT_EQ(gpu.processes->at(0).pid, 42);
  EXPECT_EQ(gpu.processes->at(0).memory_bytes, 1024);
  EXPECT_EQ(gpu.processes->at(0).utilization_percent, 60);
  EXPECT_EQ(gpu.processes->at(1).memory_bytes, std::nullopt);
  EXPECT_EQ(gpu.processes->at(1).utilization_percent, std::nullopt);
  EXPECT_TRUE(gpu.gaps.empty());
}

TEST(GpuFile, MissingKeyIsAReadingTheDeviceLacksAndNullOneThatFailed) {
  const auto node = ParseNode(R"({"gpus": [{"power_watts": null, "memory_used_bytes": null,
                                               "memory_total_bytes": null}]})");
  ASSERT_TRUE(node.ok()) << node.status();
  const GpuSample& gpu = node->gpus[0];
  EXPECT_EQ(gpu.power_watts, std::nullopt);
  ASSERT_NE(FindGap(gpu, GpuField::kPower), nullptr);
  EXPECT_EQ(FindGap(gpu, GpuField::kPower)->reason, GpuGap::Reason::kFailed);
  EXPECT_NE(FindGap(gpu, GpuField::kMemory), nullptr);
  EXPECT_EQ(gpu.gaps.size(), 2);
  EXPECT_EQ(gpu.utilization_percent, std::nullopt);
  EXPECT_EQ(FindGap(gpu, GpuField::kUtilization), nullptr);
}

TEST(GpuFile, IndexAndUuidDefaultToThePosition) {
  const auto node = ParseNode(R"({"gpus": [{}, {}]})");
  ASSERT_TRUE(node.ok()) << node.status();
  EXPECT_EQ(node->gpus[1].index, 1);
  EXPECT_EQ(node->gpus[1].uuid, "GPU-sim-1");
}

TEST(GpuFile, NoGpusIsANodeWithoutGpus) {
  const auto node = ParseNode(R"({"gpus": []})");
  ASSERT_TRUE(node.ok()) << node.status();
  EXPECT_TRUE(node->gpus.empty());
}

TEST(GpuFile, MigInstancesFollowTheirParentInIndexOrder) {
  const auto node = ParseNode(R"({"gpus": [
    {"index": 1, "uuid": "GPU-b"},
    {"index": 0, "uuid": "GPU-a", "name": "H200",
     "mig": [{"uuid": "MIG-x", "name": "H200 1g", "memory_total_bytes": 10}, {}]}]})");
  ASSERT_TRUE(node.ok()) << node.status();
  std::vector<std::string> uuids;
  for (const GpuSample& gpu : node->gpus) uuids.push_back(gpu.uuid);
  EXPECT_THAT(uuids, testing::ElementsAre("GPU-a", "MIG-x", "MIG-sim-0-1", "GPU-b"));
  EXPECT_EQ(node->gpus[1].parent_uuid, "GPU-a");
  EXPECT_EQ(node->gpus[1].index, 0);
  EXPECT_EQ(node->gpus[1].name, "H200 1g");
  EXPECT_EQ(node->gpus[2].name, "H200") << "its parent's";
  EXPECT_EQ(node->gpus[1].memory_total_bytes, 10);
  EXPECT_FALSE(IsMig(node->gpus[0]));
}

TEST(GpuFile, EveryErrorNamesLinePathAndWhatIsAllowed) {
  const struct {
    const char* text;
    const char* want;
  } rows[] = {
      {"", "1:1: syntax error"},
      {"{\n \"gpus\": [,]}", "2:11: syntax error"},
      {"{\n\"gpus\": [{\"power_watts\":\n 1e999\n}]}", "3: a number is out of range"},
      {"[]", "1: [] is not an object"},
      {"{\n}", "1: the key \"gpus\" is missing"},
      {"{\"gpus\": 1}", "1: gpus: 1 is not an array"},
      {"{\"gpus\": [\n1]}", "2: gpus[0]: 1 is not an object"},
      {"{\"gpus\": [],\n\"gpu\": []}", "2: gpu: unknown key; did you mean \"gpus\"?"},
      {"{\"gpus\": [{\n\"power_wats\": 1}]}",
       "2: gpus[0].power_wats: unknown key; did you mean \"power_watts\"?"},
      {"{\"gpus\": [{}, {\n\"utilization_percent\":\n 101}]}",
       "2: gpus[1].utilization_percent: 101 is not a number from 0 to 100"},
      {"{\"gpus\": [{\"power_watts\": \"9\"}]}",
       "1: gpus[0].power_watts: \"9\" is not a number from 0 up"},
      {"{\"gpus\": [{\"memory_used_bytes\": 1.5}]}",
       "1: gpus[0].memory_used_bytes: 1.5 is not a whole number from 0 up"},
      {"{\"gpus\": [{\"memory_used_bytes\": 18446744073709551615}]}",
       "1: gpus[0].memory_used_bytes: 18446744073709551615 is not a whole number from 0 up"},
      {"{\"gpus\": [{\"memory_used_bytes\": 2, \"memory_total_bytes\": 1}]}",
       "1: gpus[0].memory_used_bytes: 2 is more than memory_total_bytes, 1"},
      {"{\"gpus\": [{\"throttle_reasons\": -1}]}",
       "1: gpus[0].throttle_reasons: -1 is not a bit set, a whole number from 0 up"},
      {"{\"gpus\": [{\"processes\": [{}]}]}",
       "1: gpus[0].processes[0]: the key \"pid\" is missing"},
      {"{\"gpus\": [{\"processes\": [{\"pid\": 1, \"utilization_percent\": 101}]}]}",
       "1: gpus[0].processes[0].utilization_percent: 101 is not a number from 0 to 100"},
      {"{\"gpus\": [{\"processes\": [{\"pid\": 0}]}]}",
       "1: gpus[0].processes[0].pid: 0 is not a whole number from 1 up"},
      {"{\"gpus\": [{\"index\": 1}, {}]}", "1: gpus[1]: index 1 is another GPU's already"},
      {"{\"gpus\": [{\"uuid\": \"a\"}, {\"uuid\": \"a\"}]}",
       "1: gpus[1]: uuid \"a\" is another GPU's already"},
      {"{\"gpus\": [{\"uuid\": null}]}", "1: gpus[0].uuid: null is not a string"},
      {"{\"gpus\": [{\"index\": 4294967296}]}", "1: gpus[0].index: 4294967296 is too large"},
      {"{\"gpus\": [{\"mig\": [{\n\"index\": 1}]}]}",
       "2: gpus[0].mig[0].index: a MIG instance has none of its own"},
      {"{\"frames\": [],\n\"gpus\": []}", "2: gpus: there are frames already"},
      {"{\"frames\": []}", "1: frames: is empty"},
      {"{\"frames\": {}}", "1: frames: {} is not an array"},
      {"{\"frames\": [{\"gpus\": []}]}", "1: frames[0]: the key \"seconds\" is missing"},
      {"{\"frames\": [{\"seconds\": 1}]}", "1: frames[0]: the key \"gpus\" is missing"},
      {"{\"frames\": [{\"seconds\": 0, \"gpus\": []}]}",
       "1: frames[0].seconds: 0 is not a number from 0.1 to 86400"},
      {"{\"frames\": [{\"seconds\": 1, \"gpus\": [\n{\"power\": 1}]}]}",
       "2: frames[0].gpus[0].power: unknown key"},
  };
  for (const auto& row : rows) {
    const absl::Status status = ParseGpuFile(row.text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << row.text;
    EXPECT_THAT(std::string(status.message()), testing::StartsWith(row.want)) << row.text;
  }
}

TEST(GpuFile, FramesRepeatInOrder) {
  const auto frames = ParseGpuFile(R"({"driver_version": "550", "frames": [
    {"seconds": 20, "gpus": [{"utilization_percent": 0}]},
    {"seconds": 0.5, "gpus": [{"utilization_percent": 90}, {"uuid": "GPU-b"}]}]})");
  ASSERT_TRUE(frames.ok()) << frames.status();
  const struct {
    double age_seconds;
    double want;
  } rows[] = {{0, 0}, {19.9, 0}, {20, 90}, {20.4, 90}, {20.5, 0}, {40.5, 90}, {2071, 0}};
  for (const auto& row : rows) {
    const NodeSnapshot& node = FrameAt(*frames, absl::Seconds(row.age_seconds)).snapshot;
    EXPECT_EQ(node.gpus[0].utilization_percent, row.want) << row.age_seconds;
    EXPECT_EQ(node.driver_version, "550");
  }
}

}  // namespace
}  // namespace gpuscaler
