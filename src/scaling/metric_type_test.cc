#include "scaling/metric_type.h"

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

TEST(MetricType, TableIsInTheOrderOfTheEnum) {
  for (size_t i = 0; i < MetricTypes().size(); ++i) {
    EXPECT_EQ(static_cast<size_t>(MetricTypes()[i].type), i) << MetricTypes()[i].name;
  }
}

TEST(MetricType, EveryMetricReadsItsOwnField) {
  GpuSample gpu;
  for (const MetricTypeInfo& info : MetricTypes()) {
    EXPECT_EQ(info.read(gpu), std::nullopt) << info.name;
  }
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
  std::vector<double> values;
  for (const MetricTypeInfo& info : MetricTypes()) values.push_back(*info.read(gpu));
  EXPECT_EQ(values, (std::vector<double>{1, 2, 3, 25, 5, 6, 7, 8, 9, 10}));
}

TEST(MetricTypeNamed, FindsEveryMetricByItsNameAndNoOther) {
  for (const MetricTypeInfo& info : MetricTypes()) {
    EXPECT_EQ(MetricTypeNamed(info.name), info.type) << info.name;
  }
  EXPECT_EQ(MetricTypeNamed("gpu_utilisation"), std::nullopt);
  EXPECT_EQ(MetricTypeNamed(""), std::nullopt);
}

}  // namespace
}  // namespace gpuscaler
