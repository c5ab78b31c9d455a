#include "gpu/exporter_sample.h"

#include "gpu/dcgm_schema.h"
#include "gpu/test_dcgm_exposition.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

ExporterDevice DeviceOf(const std::vector<std::pair<const char*, const char*>>& lines,
                        const std::string& labels) {
  std::string text;
  for (const auto& [name, value] : lines) text += DcgmLine(name, labels, value);
  return ReadExporterExposition(DcgmSchema(), text, ExpositionFormat::kText).value().devices.at(0);
}

TEST(DcgmSample, ConvertsUnits) {
  const GpuSample gpu = SampleOf(DeviceOf({{"DCGM_FI_DEV_GPU_UTIL", "97"},
                                           {"DCGM_FI_PROF_GR_ENGINE_ACTIVE", "0.912345"},
                                           {"DCGM_FI_DEV_MEM_COPY_UTIL", "41"},
                                           {"DCGM_FI_DEV_FB_USED", "1024"},
                                           {"DCGM_FI_DEV_FB_FREE", "2048"},
                                           {"DCGM_FI_DEV_FB_RESERVED", "1"},
                                           {"DCGM_FI_DEV_GPU_TEMP", "51"},
                                           {"DCGM_FI_DEV_POWER_USAGE", "612.345000"},
                                           {"DCGM_FI_DEV_ENFORCED_POWER_LIMIT", "700.000000"},
                                           {"DCGM_FI_PROF_PCIE_TX_BYTES", "5000000"},
                                           {"DCGM_FI_PROF_PCIE_RX_BYTES", "7000000"},
                                           {"DCGM_FI_PROF_NVLINK_TX_BYTES", "1048576"},
                                           {"DCGM_FI_PROF_NVLINK_RX_BYTES", "2097152"},
                                           {"DCGM_FI_PROF_SM_ACTIVE", "0.75"},
                                           {"DCGM_FI_PROF_DRAM_ACTIVE", "0.5"},
                                           {"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "0.000000"},
                                           {"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "3"},
                                           {"DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "4"}},
                                          DcgmLabels(1, kTestUuid1)));
  EXPECT_EQ(gpu.uuid, kTestUuid1);
  EXPECT_EQ(gpu.index, 1);
  EXPECT_EQ(gpu.name, "NVIDIA H200");
  EXPECT_EQ(gpu.utilization_percent, 97);
  EXPECT_EQ(gpu.memory_utilization_percent, 41);
  EXPECT_EQ(gpu.memory_used_bytes, int64_t{1} << 30);
  EXPECT_EQ(gpu.memory_total_bytes, int64_t{3073} << 20);
  EXPECT_EQ(gpu.temperature_celsius, 51);
  EXPECT_EQ(gpu.power_watts, 612.345);
  EXPECT_EQ(gpu.power_limit_watts, 700);
  EXPECT_EQ(gpu.pcie_tx_kbps, 5000);
  EXPECT_EQ(gpu.pcie_rx_kbps, 7000);
  EXPECT_EQ(gpu.nvlink_tx_mbps, 1);
  EXPECT_EQ(gpu.nvlink_rx_mbps, 2);
  EXPECT_EQ(gpu.sm_activity_percent, 75);
  EXPECT_EQ(gpu.dram_activity_percent, 50);
  EXPECT_EQ(gpu.tensor_activity_percent, 0);
  EXPECT_EQ(gpu.ecc_uncorrected_errors, 3);
  EXPECT_EQ(gpu.throttle_reasons, 4);
  EXPECT_EQ(gpu.processes, std::nullopt);
  EXPECT_TRUE(gpu.gaps.empty());
}

TEST(DcgmSample, MissingValuesStayEmpty) {
  const GpuSample gpu =
      SampleOf(DeviceOf({{"DCGM_FI_DEV_FB_USED", "1024"}}, DcgmLabels(0, kTestUuid0)));
  EXPECT_EQ(gpu.utilization_percent, std::nullopt);
  EXPECT_EQ(gpu.memory_used_bytes, int64_t{1} << 30);
  EXPECT_EQ(gpu.memory_total_bytes, std::nullopt);
  EXPECT_EQ(gpu.power_watts, std::nullopt);
  EXPECT_EQ(gpu.sm_activity_percent, std::nullopt);
}

TEST(DcgmSample, MoreUsedThanTheTotalIsNoReading) {
  const GpuSample gpu =
      SampleOf(DeviceOf({{"DCGM_FI_DEV_FB_USED", "1024"}, {"DCGM_FI_DEV_FB_TOTAL", "1023"}},
                        DcgmLabels(0, kTestUuid0)));
  EXPECT_EQ(gpu.memory_used_bytes, std::nullopt);
  EXPECT_EQ(gpu.memory_total_bytes, std::nullopt);
}

TEST(DcgmSample, MoreMemoryThanAnyGpuHasIsNoReading) {
  const GpuSample gpu = SampleOf(
      DeviceOf({{"DCGM_FI_DEV_FB_USED", "1024"}, {"DCGM_FI_DEV_FB_FREE", "122222222222000"}},
               DcgmLabels(0, kTestUuid0)));
  EXPECT_EQ(gpu.memory_used_bytes, std::nullopt);
  EXPECT_EQ(gpu.memory_total_bytes, std::nullopt);
}

TEST(DcgmSample, EngineActivityReplacesMissingUtilizationUpToAHundredPercent) {
  const struct {
    const char* ratio;
    std::optional<double> want;
  } rows[] = {{"0.25", 25}, {"1.01", 100}, {"7", std::nullopt}};
  for (const auto& row : rows) {
    const GpuSample gpu = SampleOf(
        DeviceOf({{"DCGM_FI_PROF_GR_ENGINE_ACTIVE", row.ratio}}, DcgmLabels(0, kTestUuid0)));
    EXPECT_EQ(gpu.utilization_percent, row.want) << row.ratio;
  }
}

// dcgm-exporter 3.3 exports 0 for instances, whatever they do.
TEST(DcgmSample, InstanceHasEngineActivityAndNeverTheGpusUtilization) {
  const GpuSample idle =
      SampleOf(DeviceOf({{"DCGM_FI_DEV_GPU_UTIL", "0"}}, InstanceLabels(0, kTestUuid0, 7)));
  EXPECT_EQ(idle.utilization_percent, std::nullopt);
  const GpuSample busy =
      SampleOf(DeviceOf({{"DCGM_FI_DEV_GPU_UTIL", "0"}, {"DCGM_FI_PROF_GR_ENGINE_ACTIVE", "0.75"}},
                        InstanceLabels(0, kTestUuid0, 7)));
  EXPECT_EQ(busy.utilization_percent, 75);
}

TEST(DcgmSample, ActivityIsARatioUpToAHundredPercentAndTheInstancesOwn) {
  const struct {
    const char* ratio;
    std::optional<double> want;
  } rows[] = {{"0.25", 25}, {"1.01", 100}, {"25", std::nullopt}};
  for (const auto& row : rows) {
    const ExporterDevice device =
        DeviceOf({{"DCGM_FI_PROF_SM_ACTIVE", row.ratio}}, InstanceLabels(0, kTestUuid0, 7));
    EXPECT_EQ(SampleOf(device).sm_activity_percent, row.want) << row.ratio;
    EXPECT_EQ(ParentOf(device).sm_activity_percent, std::nullopt) << row.ratio;
  }
}

TEST(DcgmSample, InstanceHasMemoryAndItsGpuHasPower) {
  const ExporterDevice device = DeviceOf({{"DCGM_FI_DEV_FB_USED", "10"},
                                          {"DCGM_FI_DEV_FB_FREE", "90"},
                                          {"DCGM_FI_DEV_POWER_USAGE", "300"},
                                          {"DCGM_FI_DEV_GPU_TEMP", "40"}},
                                         InstanceLabels(2, kTestUuid1, 7));
  const GpuSample instance = SampleOf(device);
  EXPECT_EQ(instance.uuid, absl::StrCat("MIG-", kTestUuid1, "/7"));
  EXPECT_EQ(instance.parent_uuid, kTestUuid1);
  EXPECT_EQ(instance.gpu_instance, 7);
  EXPECT_EQ(instance.name, "NVIDIA H200 MIG 1g.18gb");
  EXPECT_EQ(instance.index, 2);
  EXPECT_EQ(instance.memory_used_bytes, 10 << 20);
  EXPECT_EQ(instance.power_watts, std::nullopt);
  const GpuSample gpu = ParentOf(device);
  EXPECT_EQ(gpu.uuid, kTestUuid1);
  EXPECT_FALSE(IsMig(gpu));
  EXPECT_EQ(gpu.power_watts, 300);
  EXPECT_EQ(gpu.temperature_celsius, 40);
  EXPECT_EQ(gpu.memory_used_bytes, std::nullopt);
  EXPECT_EQ(gpu.utilization_percent, std::nullopt);
}

}  // namespace
}  // namespace gpuscaler
