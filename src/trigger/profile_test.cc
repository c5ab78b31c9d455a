#include "trigger/profile.h"

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

TEST(BuiltInProfiles, AreThoseOfTheReferenceScalerWithOurWindows) {
  struct Row {
    const char* name;
    MetricType metric;
    double target;
    double activation;
    int window_seconds;
    int activation_window_seconds;
    int warmup_seconds;
    PreallocatedMemory standing;
    ScaleIn scale_in;
  };
  constexpr auto kVram = MetricType::kMemoryUsedPercent;
  constexpr auto kBusy = MetricType::kGpuUtilization;
  const std::vector<Row> rows = {
      {"vllm-inference", kVram, 80, 5, 30, 120, 300, PreallocatedMemory::kPressure,
       ScaleIn::kFollow},
      {"tgi-inference", kVram, 75, 5, 30, 120, 300, PreallocatedMemory::kPressure,
       ScaleIn::kFollow},
      {"batch", kVram, 70, 1, 60, 300, 0, PreallocatedMemory::kActivity, ScaleIn::kFollow},
      {"ollama", kVram, 70, 3, 60, 300, 0, PreallocatedMemory::kActivity, ScaleIn::kFollow},
      {"triton-inference", kBusy, 75, 10, 30, 60, 0, PreallocatedMemory::kLiteral,
       ScaleIn::kFollow},
      {"training", kBusy, 90, 0, 60, 600, 0, PreallocatedMemory::kLiteral, ScaleIn::kHold},
      {"vllm-queue-depth", MetricType::kVllmQueueDepth, 5, 1, 15, 60, 300,
       PreallocatedMemory::kLiteral, ScaleIn::kFollow},
      {"vllm-requests", MetricType::kRequestsInFlight, 48, 0, 15, 60, 300,
       PreallocatedMemory::kLiteral, ScaleIn::kFollow},
      {"triton-queue-wait", MetricType::kTritonQueueWaitMs, 50, 5, 15, 60, 300,
       PreallocatedMemory::kLiteral, ScaleIn::kFollow},
      {"triton-request-rate", MetricType::kTritonRequestRate, 50, 1, 15, 60, 300,
       PreallocatedMemory::kLiteral, ScaleIn::kFollow},
      {"distributed-training", MetricType::kNvlinkTx, 50000, 5000, 30, 60, 0,
       PreallocatedMemory::kLiteral, ScaleIn::kFollow},
  };
  EXPECT_EQ(BuiltInProfiles().size(), rows.size());
  for (const Row& row : rows) {
    ASSERT_TRUE(BuiltInProfiles().contains(row.name)) << row.name;
    const Profile& profile = BuiltInProfiles().find(row.name)->second;
    const Trigger& trigger = profile.trigger;
    EXPECT_EQ(trigger.profile, row.name);
    EXPECT_FALSE(profile.help.empty()) << row.name;
    EXPECT_EQ(trigger.metric, row.metric) << row.name;
    EXPECT_EQ(trigger.target, row.target) << row.name;
    EXPECT_EQ(trigger.activation_threshold, row.activation) << row.name;
    EXPECT_EQ(trigger.window, absl::Seconds(row.window_seconds)) << row.name;
    EXPECT_EQ(trigger.activation_window, absl::Seconds(row.activation_window_seconds)) << row.name;
    EXPECT_EQ(trigger.warmup, absl::Seconds(row.warmup_seconds)) << row.name;
    EXPECT_EQ(trigger.preallocated_memory, row.standing) << row.name;
    EXPECT_EQ(trigger.scale_in, row.scale_in) << row.name;
  }
}

TEST(MetricNameOf, HasUnderscoresForHyphens) {
  EXPECT_EQ(MetricNameOf("distributed-training"), "keda_gpu_distributed_training");
}

}  // namespace
}  // namespace gpuscaler
