#include "model/gpu_point.h"

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

TEST(GpuPoint, KeepsEveryReadingInItsPlace) {
  GpuSample gpu;
  gpu.utilization_percent = 1;
  gpu.memory_utilization_percent = 2;
  gpu.memory_used_bytes = 3 << 20;
  gpu.memory_total_bytes = 12 << 20;
  gpu.temperature_celsius = 5;
  gpu.power_watts = 6;
  gpu.pcie_tx_kbps = 7;
  gpu.pcie_rx_kbps = 8;
  gpu.nvlink_tx_mbps = 9;
  gpu.nvlink_rx_mbps = 10;
  gpu.sm_activity_percent = 11;
  gpu.dram_activity_percent = 12;
  gpu.tensor_activity_percent = 13;
  const GpuPoint point(gpu);
  std::vector<double> values;
  for (size_t i = 0; i < kGpuReadings; ++i) {
    values.push_back(*point.Value(static_cast<GpuReading>(i)));
  }
  EXPECT_EQ(values, (std::vector<double>{1, 2, 3, 25, 5, 6, 7, 8, 9, 10, 11, 12, 13}));
}

TEST(GpuPoint, GapIsNeitherZeroNorAReadingThatTheDeviceLacks) {
  GpuSample gpu;
  gpu.gaps = {{GpuField::kPower, GpuGap::Reason::kFailed, "NVML error 15 (GPU_IS_LOST)"},
              {GpuField::kPcie, GpuGap::Reason::kNotRequested, ""}};
  const GpuPoint point(gpu);
  EXPECT_EQ(point.Value(GpuReading::kPower), std::nullopt);
  EXPECT_TRUE(point.Has(GpuReading::kPower));
  EXPECT_TRUE(point.Has(GpuReading::kPcieTx));
  EXPECT_EQ(point.Value(GpuReading::kNvlinkTx), std::nullopt);
  EXPECT_FALSE(point.Has(GpuReading::kNvlinkTx));
}

TEST(GpuPoint, ChangedReasonOfAGapIsAChange) {
  GpuSample failed;
  failed.gaps = {{GpuField::kPcie, GpuGap::Reason::kFailed, "NVML error 999"}};
  GpuSample not_requested;
  not_requested.gaps = {{GpuField::kPcie, GpuGap::Reason::kNotRequested, ""}};
  EXPECT_EQ(GpuPoint(failed), GpuPoint(failed));
  EXPECT_NE(GpuPoint(failed), GpuPoint(not_requested));
}

TEST(GpuPoint, KeepsHeldSince) {
  GpuSample gpu;
  EXPECT_FALSE(GpuPoint(gpu).in_use());
  EXPECT_EQ(GpuPoint(gpu).held_since(), absl::InfinitePast());
  gpu.in_use = true;
  gpu.held_since = absl::FromUnixMillis(1'767'225'600'123);
  EXPECT_TRUE(GpuPoint(gpu).in_use());
  EXPECT_EQ(GpuPoint(gpu).held_since(), gpu.held_since);
}

}  // namespace
}  // namespace gpuscaler
