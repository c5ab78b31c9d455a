#include "scaling/metric_type.h"

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

TEST(MetricType, TableIsInTheOrderOfTheEnum) {
  for (size_t i = 0; i < MetricTypes().size(); ++i) {
    EXPECT_EQ(static_cast<size_t>(MetricTypes()[i].type), i) << MetricTypes()[i].name;
  }
}

TEST(MetricType, EveryMetricHasAReadingOfItsOwn) {
  for (size_t i = 0; i < MetricTypes().size(); ++i) {
    EXPECT_EQ(static_cast<size_t>(MetricTypes()[i].reading), i) << MetricTypes()[i].name;
  }
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
