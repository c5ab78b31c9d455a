// Partitions of MI300: modes DPX, QPX and CPX.
#include "base/fake_clock.h"
#include "gmock/gmock.h"
#include "gpu/amd_source.h"
#include "gpu/test_amd_sysfs.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr char kFirst[] = "0000:05:00.0";
constexpr char kSecond[] = "0000:27:00.0";
constexpr char kFirstId[] = "e3a9716b4cd5ab71";
constexpr char kSecondId[] = "2250e6f1b3c4d05a";
constexpr int64_t kGib = 1 << 30;

class AmdPartitionsTest : public testing::Test {
 protected:
  NodeSnapshot Read() {
    clock_.Advance(absl::Seconds(2));
    const auto snapshot = source_.Read({});
    EXPECT_TRUE(snapshot.ok()) << snapshot.status();
    return snapshot.ok() ? *snapshot : NodeSnapshot();
  }

  void SetMetrics(const TestMi300Metrics& metrics) {
    sysfs_.Set(kFirst, "gpu_metrics", metrics.bytes());
  }

  // Adds KFD's node of each partition, as Linux numbers them: the first GPU's location_id is 1280
  // and counts up by partition.
  void AddNodes(int first_node, int64_t first_location, int first_render_minor, int count) {
    for (int i = 0; i < count; ++i) {
      sysfs_.AddGpuNode(first_node + i, {.gpu_id = 1000 + first_render_minor + i,
                                         .render_minor = first_render_minor + i,
                                         .location_id = first_location + i,
                                         .memory_bytes = 24 * kGib});
    }
  }

  static std::vector<std::string> UuidsOf(const NodeSnapshot& snapshot) {
    std::vector<std::string> uuids;
    for (const GpuSample& gpu : snapshot.gpus) uuids.push_back(gpu.uuid);
    return uuids;
  }
  // The device plugin's id of each partition.
  static std::vector<std::string> PluginIdsOf(const NodeSnapshot& snapshot) {
    std::vector<std::string> ids;
    for (const GpuSample& gpu : snapshot.gpus) {
      if (IsMig(gpu)) ids.push_back(gpu.device_ids.front());
    }
    return ids;
  }

  TestAmdSysfs sysfs_;
  FakeClock clock_;
  AmdSource source_{sysfs_.root(), "gpu-7", clock_};
};

TEST_F(AmdPartitionsTest, EachPartitionFollowsItsGpu) {
  sysfs_.AddMi300(kFirst, {.card = 1, .render_minor = 128}, kFirstId, "CPX", 0);
  SetMetrics({.busy_percent = std::vector<std::vector<uint32_t>>(8, {25})});
  const NodeSnapshot snapshot = Read();
  ASSERT_EQ(snapshot.gpus.size(), 9u);
  const GpuSample& gpu = snapshot.gpus[0];
  EXPECT_EQ(gpu.uuid, kFirstId);
  EXPECT_TRUE(gpu.is_in_mig_mode);
  EXPECT_THAT(gpu.device_ids, ElementsAre("card1")) << "its PCI address is partition 0's";
  EXPECT_EQ(gpu.utilization_percent, 55);
  EXPECT_EQ(gpu.power_watts, 132);
  const GpuSample& partition = snapshot.gpus[4];
  EXPECT_EQ(partition.uuid, std::string(kFirstId) + "/3");
  EXPECT_EQ(partition.parent_uuid, kFirstId);
  EXPECT_EQ(partition.name, "AMD Instinct MI300X OAM CPX NPS1");
  EXPECT_EQ(partition.index, 0);
  EXPECT_THAT(partition.device_ids, ElementsAre("amdgpu_xcp_2", "renderD131"));
  EXPECT_THAT(snapshot.gpus[1].device_ids, ElementsAre(kFirst, "renderD128"));
  EXPECT_EQ(partition.utilization_percent, 25);
  EXPECT_EQ(partition.power_watts, std::nullopt);
  EXPECT_EQ(partition.temperature_celsius, std::nullopt);
  EXPECT_THAT(partition.gaps, IsEmpty());
}

TEST_F(AmdPartitionsTest, UtilizationIsTheMeanOfThePartitionsDies) {
  sysfs_.AddMi300(kFirst, {.card = 1, .render_minor = 128}, kFirstId, "QPX", 0);
  TestMi300Metrics metrics = {.cycles = 1000,
                              .busy_percent = {{10, 20}, {0, 0}, {0, 0}, {100, 100}},
                              .busy_sums = {{5000, 5000}, {0, 0}, {0, 0}, {0, 0}}};
  SetMetrics(metrics);
  NodeSnapshot snapshot = Read();
  ASSERT_EQ(snapshot.gpus.size(), 5u);
  EXPECT_EQ(snapshot.gpus[1].utilization_percent, 15) << "now: there is no mean yet";
  EXPECT_EQ(snapshot.gpus[2].utilization_percent, 0);
  EXPECT_EQ(snapshot.gpus[4].utilization_percent, 100);
  metrics.cycles = 2000;
  metrics.busy_sums[0] = {5000 + 1000 * 90, 5000 + 1000 * 70};
  SetMetrics(metrics);
  snapshot = Read();
  EXPECT_EQ(snapshot.gpus[1].utilization_percent, 80) << "the mean since the last reading";
  EXPECT_EQ(snapshot.gpus[4].utilization_percent, 0) << "its sums have not grown";
}

TEST_F(AmdPartitionsTest, MemoryIsThatOfThePartitionsProcesses) {
  sysfs_.AddMi300(kFirst, {.card = 1, .render_minor = 128}, kFirstId, "CPX", 0);
  SetMetrics({.busy_percent = std::vector<std::vector<uint32_t>>(8, {25})});
  sysfs_.AddCpuNode(0);
  AddNodes(1, 1280, 128, 8);
  sysfs_.SetProcess(4711, {{1128, 3 * kGib}, {1130, kGib}});
  sysfs_.SetProcess(4712, {{1130, kGib}});
  const NodeSnapshot snapshot = Read();
  ASSERT_EQ(snapshot.gpus.size(), 9u);
  EXPECT_EQ(snapshot.gpus[0].memory_total_bytes, 206'141'652'992) << "the whole GPU's";
  EXPECT_EQ(snapshot.gpus[1].memory_used_bytes, 3 * kGib);
  EXPECT_EQ(snapshot.gpus[1].memory_total_bytes, 24 * kGib);
  EXPECT_EQ(snapshot.gpus[2].memory_used_bytes, 0) << "no process is on it";
  EXPECT_EQ(snapshot.gpus[3].memory_used_bytes, 2 * kGib);
  ASSERT_TRUE(snapshot.gpus[3].processes);
  EXPECT_EQ(snapshot.gpus[3].processes->size(), 2u);
  EXPECT_THAT(snapshot.gpus[8].processes, testing::Optional(IsEmpty()));
}

TEST_F(AmdPartitionsTest, HiddenNodesLeaveMemoryAndProcessesAbsent) {
  sysfs_.AddMi300(kFirst, {.card = 1, .render_minor = 128}, kFirstId, "CPX", 0);
  SetMetrics({.busy_percent = std::vector<std::vector<uint32_t>>(8, {25})});
  for (int node = 1; node <= 8; ++node) sysfs_.AddHiddenNode(node);
  sysfs_.SetProcess(4711, {{1128, 3 * kGib}});
  const NodeSnapshot snapshot = Read();
  ASSERT_EQ(snapshot.gpus.size(), 9u);
  EXPECT_EQ(snapshot.gpus[1].memory_used_bytes, std::nullopt) << "never 0";
  EXPECT_EQ(snapshot.gpus[1].processes, std::nullopt) << "never an empty list";
  EXPECT_THAT(snapshot.gpus[1].gaps, IsEmpty());
  EXPECT_EQ(snapshot.gpus[1].utilization_percent, 25);
}

TEST_F(AmdPartitionsTest, OtherVersionOfTheTableLeavesUtilizationAbsent) {
  sysfs_.AddMi300(kFirst, {.card = 1, .render_minor = 128}, kFirstId, "DPX", 0);
  sysfs_.Set(kFirst, "gpu_metrics", TestGpuMetrics(9, 2208).bytes());
  const NodeSnapshot snapshot = Read();
  ASSERT_EQ(snapshot.gpus.size(), 3u);
  EXPECT_EQ(snapshot.gpus[0].utilization_percent, 55);
  EXPECT_EQ(snapshot.gpus[1].utilization_percent, std::nullopt) << "never the GPU's";
  EXPECT_THAT(snapshot.gpus[1].gaps, IsEmpty());
}

TEST_F(AmdPartitionsTest, ModeGivesTheirNumberIfTheTableDoesNot) {
  const std::pair<const char*, size_t> rows[] = {{"UNKNOWN", 0}, {"SPX", 0}, {"DPX", 2},
                                                 {"TPX", 3},     {"QPX", 4}, {"CPX", 8}};
  sysfs_.AddMi300(kFirst, {.card = 1, .render_minor = 128}, kFirstId, "SPX", 0);
  for (const auto& [mode, count] : rows) {
    sysfs_.Set(kFirst, "current_compute_partition", std::string(mode) + "\n");
    EXPECT_EQ(PluginIdsOf(Read()).size(), count) << mode;
  }
}

TEST_F(AmdPartitionsTest, KfdGivesTheirNumberInCpxIfTheTableDoesNot) {
  sysfs_.AddMi300(kFirst, {.card = 1, .render_minor = 128}, kFirstId, "CPX", 0);
  AddNodes(1, 1280, 128, 6);  // MI300A has six compute dies
  EXPECT_EQ(PluginIdsOf(Read()).size(), 6u);
}

TEST_F(AmdPartitionsTest, DevicesBelongToTheGpuBeforeThem) {
  sysfs_.AddMi300(kFirst, {.card = 1, .render_minor = 128}, kFirstId, "DPX", 0);
  sysfs_.AddMi300(kSecond, {.card = 2, .render_minor = 136}, kSecondId, "DPX", 7);
  const NodeSnapshot snapshot = Read();
  EXPECT_THAT(UuidsOf(snapshot),
              ElementsAre(kFirstId, std::string(kFirstId) + "/0", std::string(kFirstId) + "/1",
                          kSecondId, std::string(kSecondId) + "/0", std::string(kSecondId) + "/1"));
  EXPECT_THAT(PluginIdsOf(snapshot), ElementsAre(kFirst, "amdgpu_xcp_0", kSecond, "amdgpu_xcp_7"));
  EXPECT_EQ(snapshot.gpus[5].index, 1);
}

// The second GPU was added again, and got the render minor that was free.
TEST_F(AmdPartitionsTest, KfdGivesTheGpuOfADeviceInAnyOrder) {
  for (const int64_t partition_bits : {int64_t{0}, int64_t{1} << 28}) {
    TestAmdSysfs sysfs;
    sysfs.AddMi300(kSecond, {.card = 1, .render_minor = 128}, kSecondId, "DPX", 0);
    sysfs.AddMi300(kFirst, {.card = 2, .render_minor = 136}, kFirstId, "DPX", 7);
    sysfs.AddGpuNode(1, {.gpu_id = 1, .render_minor = 136, .location_id = 1280});
    sysfs.AddGpuNode(2, {.gpu_id = 2, .render_minor = 129, .location_id = 1280 + partition_bits});
    sysfs.AddGpuNode(3, {.gpu_id = 3, .render_minor = 128, .location_id = 9984});
    sysfs.AddGpuNode(4, {.gpu_id = 4, .render_minor = 137, .location_id = 9984 + partition_bits});
    AmdSource source(sysfs.root(), "gpu-7", clock_);
    const auto snapshot = source.Read({});
    ASSERT_TRUE(snapshot.ok());
    EXPECT_THAT(PluginIdsOf(*snapshot),
                ElementsAre(kFirst, "amdgpu_xcp_0", kSecond, "amdgpu_xcp_7"))
        << partition_bits;
  }
}

TEST_F(AmdPartitionsTest, ModeThatCannotBeReadForOnceStays) {
  sysfs_.AddMi300(kFirst, {.card = 1, .render_minor = 128}, kFirstId, "CPX", 0);
  const NodeSnapshot before = Read();
  sysfs_.Break(kFirst, "current_compute_partition");
  sysfs_.Break(kFirst, "current_memory_partition");
  EXPECT_EQ(UuidsOf(Read()), UuidsOf(before));
}

TEST_F(AmdPartitionsTest, DivisionGivesThePciAddressToPartition0) {
  sysfs_.AddMi300(kFirst, {.card = 1, .render_minor = 128}, kFirstId, "SPX", 0);
  NodeSnapshot snapshot = Read();
  ASSERT_EQ(snapshot.gpus.size(), 1u);
  EXPECT_THAT(snapshot.gpus[0].device_ids, ElementsAre("card1", kFirst, "renderD128"));
  sysfs_.Set(kFirst, "current_compute_partition", "DPX\n");
  snapshot = Read();
  ASSERT_EQ(snapshot.gpus.size(), 3u);
  EXPECT_THAT(snapshot.gpus[0].device_ids, ElementsAre("card1"));
  EXPECT_THAT(snapshot.gpus[1].device_ids, ElementsAre(kFirst, "renderD128"));
}

}  // namespace
}  // namespace gpuscaler
