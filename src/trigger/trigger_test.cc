#include "trigger/trigger.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trigger/test_parsed_trigger.h"
#include "trigger/trigger_keys.h"

namespace gpuscaler {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ParseTrigger, EmptyMetadataHasTheDefaultsOfTheReferenceScaler) {
  const Trigger trigger = Parsed({{"scalerAddress", "gpu-scaler:6000"}});
  EXPECT_EQ(trigger.profile, "");
  EXPECT_EQ(trigger.metric_name, "keda_gpu_metric");
  EXPECT_EQ(trigger.metric, MetricType::kGpuUtilization);
  EXPECT_EQ(trigger.target, 80);
  EXPECT_EQ(trigger.target_type, TargetType::kAverageValue);
  EXPECT_EQ(trigger.activation_threshold, 0);
  EXPECT_EQ(trigger.gpu_index, -1);
  EXPECT_EQ(trigger.aggregation, Aggregation::kMax);
  EXPECT_EQ(trigger.scope, Scope::kWorkload);
  EXPECT_EQ(trigger.window, absl::Seconds(30));
  EXPECT_EQ(trigger.activation_window, absl::Seconds(60));
  EXPECT_EQ(trigger.warmup, absl::ZeroDuration());
  EXPECT_FALSE(trigger.activation_threshold_given);
  EXPECT_FALSE(trigger.always_active);
}

TEST(ParseTrigger, EveryKeyReachesItsField) {
  const Trigger trigger = Parsed({{"metricType", "power_draw"},
                                  {"targetValue", "250.5"},
                                  {"activationThreshold", "12"},
                                  {"gpuIndex", "3"},
                                  {"aggregation", "p99"},
                                  {"pollIntervalSeconds", "5"},
                                  {"metricName", "our_power.v1"},
                                  {"targetType", "Value"},
                                  {"scope", "fleet"},
                                  {"replicaAggregation", "p95"},
                                  {"gpusPerReplica", "4"},
                                  {"window", "45s"},
                                  {"windowAggregation", "max"},
                                  {"activationWindow", "2m"},
                                  {"warmupSeconds", "90"},
                                  {"preallocationWindow", "3m"},
                                  {"engineFallback", "activity"},
                                  {"maxConcurrency", "64"},
                                  {"scaleIn", "hold"}});
  EXPECT_EQ(trigger.metric, MetricType::kPowerDraw);
  EXPECT_EQ(trigger.target, 250.5);
  EXPECT_EQ(trigger.activation_threshold, 12);
  EXPECT_EQ(trigger.gpu_index, 3);
  EXPECT_EQ(trigger.aggregation, Aggregation::kP99);
  EXPECT_EQ(trigger.metric_name, "our_power.v1");
  EXPECT_EQ(trigger.target_type, TargetType::kValue);
  EXPECT_EQ(trigger.scope, Scope::kFleet);
  EXPECT_EQ(trigger.replica_aggregation, ReplicaAggregation::kP95);
  EXPECT_EQ(trigger.gpus_per_replica, 4);
  EXPECT_EQ(trigger.window, absl::Seconds(45));
  EXPECT_EQ(trigger.window_aggregation, WindowAggregation::kMax);
  EXPECT_EQ(trigger.activation_window, absl::Minutes(2));
  EXPECT_EQ(trigger.warmup, absl::Seconds(90));
  EXPECT_EQ(trigger.preallocation_window, absl::Minutes(3));
  EXPECT_EQ(trigger.engine_fallback, EngineFallback::kActivity);
  EXPECT_EQ(trigger.max_concurrency, 64);
  EXPECT_EQ(trigger.scale_in, ScaleIn::kHold);
  EXPECT_TRUE(trigger.activation_threshold_given);
  EXPECT_FALSE(trigger.always_active) << "an activationThreshold was given";
}

TEST(ParseTrigger, AnyKeyOverridesItsProfile) {
  const Trigger plain = Parsed({{"profile", "vllm-inference"}});
  EXPECT_EQ(plain.profile, "vllm-inference");
  EXPECT_EQ(plain.metric_name, "keda_gpu_vllm_inference");
  EXPECT_EQ(plain.target, 80);
  EXPECT_EQ(plain.activation_threshold, 5);
  EXPECT_EQ(plain.activation_window, absl::Seconds(120));
  EXPECT_EQ(plain.warmup, absl::Seconds(300));

  const Trigger changed = Parsed({{"profile", "vllm-inference"},
                                  {"targetValue", "60"},
                                  {"activationThreshold", "7"},
                                  {"activationWindow", "30s"},
                                  {"warmupSeconds", "2m"},
                                  {"metricName", "ours"}});
  EXPECT_EQ(changed.metric_name, "ours");
  EXPECT_EQ(changed.target, 60);
  EXPECT_EQ(changed.activation_threshold, 7);
  EXPECT_EQ(changed.activation_window, absl::Seconds(30));
  EXPECT_EQ(changed.warmup, absl::Minutes(2));
}

TEST(ParseTrigger, ExtensiveMetricsAreSummedUnlessSetOtherwise) {
  EXPECT_EQ(Parsed({{"metricType", "memory_used_mib"}}).aggregation, Aggregation::kSum);
  EXPECT_EQ(Parsed({{"profile", "distributed-training"}}).aggregation, Aggregation::kSum);
  EXPECT_EQ(Parsed({{"metricType", "temperature"}}).aggregation, Aggregation::kMax);
  EXPECT_EQ(Parsed({{"metricType", "memory_used_mib"}, {"aggregation", "max"}}).aggregation,
            Aggregation::kMax);
}

TEST(ParseTrigger, PreallocatedMemoryIsLiteralOnlyIfMetadataNamesTheMetric) {
  struct Row {
    Metadata metadata;
    PreallocatedMemory want;
  };
  for (const Row& row : std::vector<Row>{
           {{{"profile", "vllm-inference"}}, PreallocatedMemory::kPressure},
           {{{"profile", "tgi-inference"}, {"targetValue", "60"}}, PreallocatedMemory::kPressure},
           {{{"profile", "ollama"}}, PreallocatedMemory::kActivity},
           {{{"profile", "batch"}}, PreallocatedMemory::kActivity},
           {{{"profile", "vllm-inference"}, {"metricType", "memory_used_percent"}},
            PreallocatedMemory::kLiteral},
           {{{"profile", "ollama"}, {"targetMemoryUtilization", "60"}},
            PreallocatedMemory::kActivity},
           {{{"profile", "training"}, {"targetMemoryUtilization", "60"}},
            PreallocatedMemory::kLiteral},
           {{{"targetMemoryUtilization", "60"}}, PreallocatedMemory::kLiteral},
           {{{"profile", "vllm-inference"}, {"metricType", "gpu_utilization"}},
            PreallocatedMemory::kLiteral},
           {{{"metricType", "memory_used_percent"}}, PreallocatedMemory::kLiteral},
       }) {
    EXPECT_EQ(Parsed(row.metadata).preallocated_memory, row.want) << Text(row.metadata);
  }
}

TEST(ParseTrigger, HoldingProfileWithAThresholdIsNotAlwaysActive) {
  const auto profiles = ParseProfiles("profiles: {ours: {scaleIn: hold, activationThreshold: 5}}");
  ASSERT_TRUE(profiles.ok()) << profiles.status();
  EXPECT_FALSE(ParseTrigger({{"profile", "ours"}}, *profiles)->always_active);
}

TEST(ParseTrigger, HoldingTriggerIsAlwaysActiveWithoutAThreshold) {
  EXPECT_TRUE(Parsed({{"profile", "training"}}).always_active);
  EXPECT_TRUE(Parsed({{"scaleIn", "hold"}}).always_active);
  EXPECT_FALSE(Parsed({{"profile", "training"}, {"activationThreshold", "0"}}).always_active);
  EXPECT_FALSE(
      Parsed({{"profile", "training"}, {"activationThresholdFromEnv", "5"}}).always_active);
  EXPECT_FALSE(Parsed({{"profile", "training"}, {"scaleIn", "follow"}}).always_active);
}

TEST(ParseTrigger, KedasOwnKeysAreIgnored) {
  Metadata metadata;
  for (absl::string_view key : KedaKeys()) metadata[std::string(key)] = "anything";
  metadata["caCertFromEnv"] = "secret";
  EXPECT_EQ(Parsed(metadata).target, 80);
}

TEST(ParseTrigger, FromEnvIsAcceptedForEveryKeyAndThePlainKeyWins) {
  EXPECT_EQ(Parsed({{"targetValueFromEnv", "70"}}).target, 70);
  EXPECT_EQ(Parsed({{"targetValueFromEnv", "70"}, {"targetValue", "60"}}).target, 60);
  EXPECT_EQ(Parsed({{"targetValueFromEnv", "rubbish"}, {"targetValue", "60"}}).target, 60);
  EXPECT_EQ(Parsed({{"profileFromEnv", "ollama"}}).metric_name, "keda_gpu_ollama");
  for (const KeyRow& key : KeyRows()) {
    const std::string message = [&] {
      const Metadata metadata = {{absl::StrCat(key.name, "FromEnv"), ""}};
      return std::string(ParseTrigger(metadata, BuiltInProfiles()).status().message());
    }();
    EXPECT_THAT(message, Not(HasSubstr("no such key"))) << key.name;
  }
}

TEST(SpecOf, AlwaysSucceeds) {
  struct Row {
    Metadata metadata;
    std::string name;
    double target;
  };
  for (const Row& row : std::vector<Row>{
           {{}, "keda_gpu_metric", 80},
           {{{"profile", "training"}}, "keda_gpu_training", 90},
           {{{"profile", "training"}, {"targetValue", "x"}}, "keda_gpu_training", 90},
           {{{"targetValue", "-1"}}, "keda_gpu_metric", 1},
           {{{"profile", "no-such"}, {"targetValue", "70"}}, "keda_gpu_metric", 70},
           {{{"profile", "training"}, {"metricName", "a b"}}, "keda_gpu_metric", 90},
           {{{"profile", "training"}, {"no-such-key", "1"}}, "keda_gpu_training", 90},
           {{{"metricName", "ours"}, {"window", "oops"}}, "ours", 80},
           {{{"targetGpuUtilization", "70"}, {"targetMemoryUtilization", "60"}},
            "keda_gpu_metric",
            1},
       }) {
    const MetricSpec spec = SpecOf(row.metadata, BuiltInProfiles());
    EXPECT_EQ(spec.metric_name, row.name) << Text(row.metadata);
    EXPECT_EQ(spec.target, row.target) << Text(row.metadata);
  }
}

TEST(KeyRows, EachHasAllowedValuesAndHelp) {
  EXPECT_EQ(KeyRows().size(), 50u);
  for (const KeyRow& key : KeyRows()) {
    EXPECT_FALSE(key.allowed.empty()) << key.name;
    EXPECT_FALSE(key.help.empty()) << key.name;
  }
}

TEST(Name, IsTheWordThatParsesToTheSameValue) {
  EXPECT_EQ(Name(TargetType::kAverageValue), "AverageValue");
  EXPECT_EQ(Name(Scope::kFleet), "fleet");
  EXPECT_EQ(Name(Aggregation::kP99), "p99");
  EXPECT_EQ(Name(ReplicaAggregation::kMin), "min");
  EXPECT_EQ(Name(WindowAggregation::kP95), "p95");
  EXPECT_EQ(Name(EngineFallback::kNone), "none");
  EXPECT_EQ(Name(ScaleIn::kHold), "hold");
}

}  // namespace
}  // namespace gpuscaler
