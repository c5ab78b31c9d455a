// targetGpuUtilization and targetMemoryUtilization: a metric and its target in one key.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trigger/test_parsed_trigger.h"

namespace gpuscaler {
namespace {

using ::testing::HasSubstr;

TEST(TargetShorthands, ShorthandsNameAMetricAndItsTarget) {
  struct Row {
    Metadata metadata;
    MetricType metric;
    double target;
  };
  for (const Row& row : std::vector<Row>{
           {{{"targetGpuUtilization", "70"}}, MetricType::kGpuUtilization, 70},
           {{{"targetMemoryUtilization", "60"}}, MetricType::kMemoryUsedPercent, 60},
           {{{"targetMemoryUtilization", "60"}, {"targetValue", "50"}},
            MetricType::kMemoryUsedPercent,
            50},
           {{{"profile", "ollama"}, {"targetGpuUtilization", "70"}},
            MetricType::kGpuUtilization,
            70},
           {{{"metricType", "gpu_utilization"}, {"targetGpuUtilization", "70"}},
            MetricType::kGpuUtilization,
            70},
           {{{"metricType", "memory_used_percent"},
             {"targetGpuUtilization", "70"},
             {"targetMemoryUtilization", "60"}},
            MetricType::kMemoryUsedPercent,
            60},
       }) {
    const Trigger trigger = Parsed(row.metadata);
    EXPECT_EQ(trigger.metric, row.metric) << Text(row.metadata);
    EXPECT_EQ(trigger.target, row.target) << Text(row.metadata);
    EXPECT_EQ(SpecOf(row.metadata, BuiltInProfiles()).target, row.target) << Text(row.metadata);
  }
}

TEST(TargetShorthands, ContradictingShorthandsAreRefusedByName) {
  const std::string both =
      Refused({{"targetGpuUtilization", "70"}, {"targetMemoryUtilization", "60"}});
  EXPECT_THAT(both, HasSubstr("targetGpuUtilization and targetMemoryUtilization"));
  EXPECT_THAT(both, HasSubstr("set metricType"));
  for (const char* metric : {"temperature", "memory_used_percent"}) {
    const std::string other = Refused({{"metricType", metric}, {"targetGpuUtilization", "70"}});
    EXPECT_THAT(other, HasSubstr("targetGpuUtilization"));
    EXPECT_THAT(other, HasSubstr("metricType"));
    EXPECT_THAT(other, HasSubstr("use targetValue"));
  }
}

TEST(TargetShorthands, ShorthandWithAnEngineProfileIsRefused) {
  EXPECT_EQ(Refused({{"profile", "vllm-requests"}, {"targetGpuUtilization", "70"}}),
            "targetGpuUtilization: it is the target of gpu_utilization, but profile is on "
            "requests_in_flight; use targetValue for that, or leave the profile out");
  EXPECT_THAT(Refused({{"profile", "triton-queue-wait"},
                       {"targetMemoryUtilization", "70"},
                       {"targetValue", "50"}}),
              HasSubstr("but profile is on triton_queue_wait_ms"));
  const Trigger by_hand = Parsed({{"profile", "vllm-requests"},
                                  {"metricType", "gpu_utilization"},
                                  {"targetGpuUtilization", "70"}});
  EXPECT_EQ(by_hand.metric, MetricType::kGpuUtilization) << "set explicitly";
}

}  // namespace
}  // namespace gpuscaler
