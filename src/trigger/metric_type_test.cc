#include "trigger/metric_type.h"

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

TEST(MetricType, TableIsInTheOrderOfTheEnum) {
  for (size_t i = 0; i < MetricTypes().size(); ++i) {
    EXPECT_EQ(static_cast<size_t>(MetricTypes()[i].type), i) << MetricTypes()[i].name;
  }
}

TEST(MetricType, EveryMetricOfGpusHasAReadingOfItsOwn) {
  size_t readings = 0;
  for (const MetricTypeInfo& info : MetricTypes()) {
    if (info.origin != MetricOrigin::kGpu) continue;
    EXPECT_EQ(static_cast<size_t>(info.reading), readings++) << info.name;
  }
  EXPECT_EQ(readings, kGpuReadings);
}

TEST(MetricType, MetricsOfNoReplicaAddUp) {
  for (const MetricTypeInfo& info : MetricTypes()) {
    EXPECT_TRUE(IsOfReplicas(info.origin) || info.extensive) << info.name;
    EXPECT_FALSE(info.percent && info.extensive) << info.name;
  }
}

TEST(MetricTypeNamed, FindsEveryMetricByItsName) {
  for (const MetricTypeInfo& info : MetricTypes()) {
    EXPECT_EQ(MetricTypeNamed(info.name), info.type) << info.name;
  }
  EXPECT_EQ(MetricTypeNamed("gpu_utilisation"), std::nullopt);
  EXPECT_EQ(MetricTypeNamed(""), std::nullopt);
}

}  // namespace
}  // namespace gpuscaler
