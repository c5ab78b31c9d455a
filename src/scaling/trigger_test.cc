#include "scaling/trigger.h"

#include <re2/re2.h>

#include <algorithm>
#include <random>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string Text(const Metadata& metadata) {
  std::string text;
  for (const auto& [key, value] : metadata) absl::StrAppend(&text, key, "=", value, " ");
  return text;
}

Trigger Parsed(const Metadata& metadata) {
  const auto trigger = ParseTrigger(metadata, BuiltInProfiles());
  EXPECT_TRUE(trigger.ok()) << Text(metadata) << trigger.status();
  return trigger.ok() ? *trigger : Trigger();
}

std::string Refused(const Metadata& metadata) {
  const absl::Status status = ParseTrigger(metadata, BuiltInProfiles()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << Text(metadata) << status;
  return std::string(status.message());
}

TEST(ParseTrigger, OfManyProfilesTheNearestAreNamed) {
  Profiles many = BuiltInProfiles();
  for (int i = 0; i < 2000; ++i) many[absl::StrCat("team-", i, "-inference")];
  const auto refused = ParseTrigger({{"profile", "team-77-inferense"}}, many).status();
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("profile=\"team-77-inferense\": use team-77-inference, "));
  EXPECT_THAT(std::string(refused.message()), HasSubstr(" others; did you mean "));
  EXPECT_LT(refused.message().size(), 400u);
}

TEST(ParseTrigger, FirstFaultIsSaidHoweverLongItIs) {
  Profiles long_names;
  for (int i = 0; i < 20; ++i) long_names[absl::StrCat(std::string(500, 'p'), i)];
  const auto refused =
      ParseTrigger({{"aggregation", "p90"}, {"profile", "p"}, {"window", "x"}}, long_names);
  EXPECT_THAT(std::string(refused.status().message()),
              AllOf(HasSubstr("aggregation=\"p90\""), HasSubstr("; and 2 more")));
  const auto alone = ParseTrigger({{"profile", "p"}}, long_names);
  EXPECT_THAT(std::string(alone.status().message()),
              AllOf(StartsWith("profile=\"p\": use ppp"), EndsWith("ppp...")));
  EXPECT_LT(alone.status().message().size(), 5000u);
}

TEST(ParseTrigger, EmptyMetadataHasTheReferencesDefaults) {
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

TEST(ParseTrigger, AmountsThatAddUpAreSummedUnlessToldOtherwise) {
  EXPECT_EQ(Parsed({{"metricType", "memory_used_mib"}}).aggregation, Aggregation::kSum);
  EXPECT_EQ(Parsed({{"profile", "distributed-training"}}).aggregation, Aggregation::kSum);
  EXPECT_EQ(Parsed({{"metricType", "temperature"}}).aggregation, Aggregation::kMax);
  EXPECT_EQ(Parsed({{"metricType", "memory_used_mib"}, {"aggregation", "max"}}).aggregation,
            Aggregation::kMax);
}

TEST(ParseTrigger, StandingMemoryIsLiteralOnlyWhereTheMetricIsNamedByHand) {
  struct Row {
    Metadata metadata;
    StandingMemory want;
  };
  for (const Row& row : std::vector<Row>{
           {{{"profile", "vllm-inference"}}, StandingMemory::kPressure},
           {{{"profile", "tgi-inference"}, {"targetValue", "60"}}, StandingMemory::kPressure},
           {{{"profile", "ollama"}}, StandingMemory::kActivity},
           {{{"profile", "batch"}}, StandingMemory::kActivity},
           {{{"profile", "vllm-inference"}, {"metricType", "memory_used_percent"}},
            StandingMemory::kLiteral},
           {{{"profile", "ollama"}, {"targetMemoryUtilization", "60"}}, StandingMemory::kActivity},
           {{{"profile", "training"}, {"targetMemoryUtilization", "60"}}, StandingMemory::kLiteral},
           {{{"targetMemoryUtilization", "60"}}, StandingMemory::kLiteral},
           {{{"profile", "vllm-inference"}, {"metricType", "gpu_utilization"}},
            StandingMemory::kLiteral},
           {{{"metricType", "memory_used_percent"}}, StandingMemory::kLiteral},
       }) {
    EXPECT_EQ(Parsed(row.metadata).standing_memory, row.want) << Text(row.metadata);
  }
}

TEST(ParseTrigger, AHoldingProfileWithAThresholdIsNotAlwaysActive) {
  const auto profiles = ParseProfiles("profiles: {ours: {scaleIn: hold, activationThreshold: 5}}");
  ASSERT_TRUE(profiles.ok()) << profiles.status();
  EXPECT_FALSE(ParseTrigger({{"profile", "ours"}}, *profiles)->always_active);
}

TEST(ParseTrigger, AHoldingTriggerIsAlwaysActiveUnlessGivenAThreshold) {
  EXPECT_TRUE(Parsed({{"profile", "training"}}).always_active);
  EXPECT_TRUE(Parsed({{"scaleIn", "hold"}}).always_active);
  EXPECT_FALSE(Parsed({{"profile", "training"}, {"activationThreshold", "0"}}).always_active);
  EXPECT_FALSE(
      Parsed({{"profile", "training"}, {"activationThresholdFromEnv", "5"}}).always_active);
  EXPECT_FALSE(Parsed({{"profile", "training"}, {"scaleIn", "follow"}}).always_active);
}

TEST(ParseTrigger, ShorthandsNameAMetricAndItsTarget) {
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

TEST(ParseTrigger, ShorthandsThatContradictAreRefusedByName) {
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

TEST(ParseTrigger, BadValuesNameKeyValueAndWhatIsAllowed) {
  struct Row {
    const char* key;
    const char* value;
    const char* want;
  };
  for (const Row& row : std::vector<Row>{
           {"targetValue", "nan", "targetValue=\"nan\": use a number above 0"},
           {"targetValue", "inf", "use a number above 0"},
           {"targetValue", "1e999", "use a number above 0"},
           {"targetValue", "-5", "use a number above 0"},
           {"targetValue", "0", "use a number above 0"},
           {"targetValue", "", "use a number above 0"},
           {"targetValue", "80%", "use a number above 0"},
           {"targetValue", " 80", "use a number above 0"},
           {"targetGpuUtilization", "0", "use a number above 0"},
           {"activationThreshold", "-0.1", "use a number, 0 or above"},
           {"gpuIndex", "-2", "use -1 (all)"},
           {"gpuIndex", "1.5", "use -1 (all)"},
           {"gpusPerReplica", "0", "use a whole number, 1 to 64"},
           {"gpusPerReplica", "65", "use a whole number, 1 to 64"},
           {"pollIntervalSeconds", "0", "use a whole number, 1 or above"},
           {"window", "30", "a duration with its unit"},
           {"window", "-5s", "a duration with its unit"},
           {"window", "16m", "0s to 15m"},
           {"activationWindow", "inf", "a duration with its unit"},
           {"warmupSeconds", "1801", "0 to 30m"},
           {"warmupSeconds", "31m", "0 to 30m"},
           {"preallocationWindow", "0s", "1s to 15m"},
           {"maxConcurrency", "0", "use a number above 0"},
           {"metricName", "a/b", "up to 200 letters"},
           {"metricName", "s0-gpu", "without a prefix such as s0-"},
           {"metricName", "", "up to 200 letters"},
           {"aggregation", "p90",
            "aggregation=\"p90\": use max, min, avg, sum, p95 or p99; did you mean \"p95\"?"},
           {"targetType", "value",
            "targetType=\"value\": use AverageValue or Value; did you mean \"Value\"?"},
           {"metricType", "gpu_utilisation", "did you mean \"gpu_utilization\"?"},
           {"metricType", "gpu_utilisation", "redis_stream_pending or redis_list_length"},
           {"profile", "vllm-inferense", "did you mean \"vllm-inference\"?"},
           {"scaleIn", "stop", "use follow or hold"},
       }) {
    EXPECT_THAT(Refused({{row.key, row.value}}), HasSubstr(row.want)) << row.key;
  }
}

TEST(ParseTrigger, MetricNamesThatOnlyLookPrefixedAreFine) {
  for (const char* name : {"s-gpu", "s0", "s0gpu", "sx-1", "S0-gpu", "gpu-s0-x"}) {
    EXPECT_EQ(Parsed({{"metricName", name}}).metric_name, name);
  }
}

TEST(ParseTrigger, UnknownKeysNameTheNearestOne) {
  EXPECT_THAT(Refused({{"targetvalue", "80"}}),
              HasSubstr("targetvalue=\"80\": no such key; did you mean \"targetValue\"?"));
  EXPECT_THAT(Refused({{"scalerAdress", "x"}}), HasSubstr("did you mean \"scalerAddress\"?"));
  EXPECT_THAT(Refused({{"zzzzzzzz", "x"}}), HasSubstr("use profile, metricType,"));
}

TEST(ParseTrigger, AllFaultsAreToldAtOnce) {
  EXPECT_EQ(Refused({{"gpuIndex", "x"}, {"scaleIn", "x"}, {"window", "30s"}}),
            "gpuIndex=\"x\": use -1 (all) or the index of one GPU of each node; "
            "scaleIn=\"x\": use follow or hold");
}

TEST(ParseTrigger, TheErrorStaysSmallEnoughForAnRpc) {
  Metadata metadata;
  for (int i = 0; i < 256; ++i) metadata[absl::StrCat("key", i, std::string(200, '\x01'))] = "v";
  const std::string message = Refused(metadata);
  EXPECT_LT(message.size(), 4200u);
  EXPECT_THAT(message, HasSubstr(" more"));
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
  for (const TriggerKey& key : TriggerKeys()) {
    const std::string message = [&] {
      const Metadata metadata = {{absl::StrCat(key.name, "FromEnv"), ""}};
      return std::string(ParseTrigger(metadata, BuiltInProfiles()).status().message());
    }();
    EXPECT_THAT(message, Not(HasSubstr("no such key"))) << key.name;
  }
}

TEST(ParseTrigger, WorkloadIsANameOrKindAndName) {
  EXPECT_EQ(Parsed({}).workload, "");
  EXPECT_EQ(Parsed({}).pod_regex, nullptr);
  EXPECT_EQ(Parsed({{"workload", "llm"}}).workload, "llm");
  EXPECT_EQ(Parsed({{"workload", "llm"}}).workload_kind, "");
  const Trigger trigger = Parsed({{"workload", "StatefulSet/llm.v2"}});
  EXPECT_EQ(trigger.workload, "llm.v2");
  EXPECT_EQ(trigger.workload_kind, "StatefulSet");
  for (const char* wrong : {"", "/llm", "Deployment/", "a/b/c", "apps.v1/llm", "Llm", "llm *"}) {
    EXPECT_THAT(Refused({{"workload", wrong}}), HasSubstr("use NAME or Kind/NAME")) << wrong;
  }
}

TEST(ParseTrigger, PodRegexIsCheckedAndItsFaultIsRe2s) {
  const Trigger trigger = Parsed({{"podRegex", "llm-[0-9]+"}});
  ASSERT_NE(trigger.pod_regex, nullptr);
  EXPECT_EQ(trigger.pod_regex->pattern(), "llm-[0-9]+");
  EXPECT_THAT(Refused({{"podRegex", "llm-(a"}}), HasSubstr("missing ): llm-(a"));
  EXPECT_THAT(Refused({{"podRegex", std::string(300, 'a')}}), HasSubstr("up to 253 characters"));
  EXPECT_THAT(Refused({{"podRegex", "((a{100}){100}){100}"}}), HasSubstr("podRegex="));
}

TEST(ParseTrigger, OneKeySaysWhosePodsCountAndOnlyInTheirScope) {
  EXPECT_THAT(Refused({{"workload", "llm"}, {"podRegex", "llm-.*"}}),
              HasSubstr("podRegex and workload: each says whose pods count"));
  EXPECT_THAT(Refused({{"workload", "llm"}, {"scope", "node"}}),
              HasSubstr("workload: scope node counts all GPUs"));
  EXPECT_EQ(Parsed({{"workload", "llm"}, {"scope", "workload"}}).workload, "llm");
}

TEST(ParseTrigger, ValuesFromTheEnvironmentAreNeverShown) {
  for (const TriggerKey& key : TriggerKeys()) {
    const std::string name = absl::StrCat(key.name, "FromEnv");
    const std::string message = Refused({{name, "/(hunter2-p91"}});
    EXPECT_THAT(message, Not(HasSubstr("hunter2"))) << name;
    EXPECT_THAT(message, Not(HasSubstr("did you mean"))) << name;
    EXPECT_THAT(message, HasSubstr(name));
  }
  const std::string unknown = Refused({{"tokenFromEnv", "hunter2"}});
  EXPECT_THAT(unknown, Not(HasSubstr("hunter2")));
  EXPECT_THAT(Refused({{"targetvalueFromEnv", "hunter2"}}),
              HasSubstr("did you mean \"targetValueFromEnv\"?"));
  EXPECT_THAT(Refused({{"metricTypeFromEnv", "power_draw"}, {"targetGpuUtilization", "5"}}),
              Not(HasSubstr("power_draw")));
}

TEST(SpecOf, AlwaysAnswers) {
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

// What a tenant may send: known keys and garbage, good values and garbage.
class RandomMetadata {
 public:
  explicit RandomMetadata(unsigned seed) : random_(seed) {}

  Metadata Next() {
    Metadata metadata;
    for (int left = Below(6); left > 0; --left) metadata[Key()] = Value();
    return metadata;
  }

 private:
  int Below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }

  std::string Garbage() {
    std::string bytes(static_cast<size_t>(Below(24)), '\0');
    for (char& byte : bytes) byte = static_cast<char>(Below(256));
    return bytes;
  }

  std::string Key() {
    if (Below(12) == 0) return Garbage();
    const auto keys = TriggerKeys();
    std::string key(keys[static_cast<size_t>(Below(static_cast<int>(keys.size())))].name);
    if (Below(10) == 0) key.push_back(static_cast<char>(Below(256)));
    return Below(8) == 0 ? key + "FromEnv" : key;
  }

  std::string Value() {
    constexpr const char* kValues[] = {
        "0",     "1",    "80",   "-1",        "1e3",    "nan",   "30s",
        "5m",    "1h",   "max",  "avg",       "p95",    "sum",   "hold",
        "Value", "node", "none", "training",  "ollama", "batch", "gpu_utilization",
        "64",    "7.25", "name", "s1-metric", "1e308",  "",      "memory_used_percent",
    };
    return Below(8) == 0 ? Garbage() : kValues[Below(static_cast<int>(std::size(kValues)))];
  }

  std::mt19937 random_;
};

TEST(ParseTriggerProperty, AnyMetadataIsEitherRefusedWithWordsOrAGoodTrigger) {
  RandomMetadata random(20240601);
  int good = 0;
  for (int i = 0; i < 20000; ++i) {
    const Metadata metadata = random.Next();
    const auto trigger = ParseTrigger(metadata, BuiltInProfiles());
    const MetricSpec spec = SpecOf(metadata, BuiltInProfiles());
    ASSERT_GT(spec.target, 0) << Text(metadata);
    ASSERT_FALSE(spec.metric_name.empty()) << Text(metadata);
    if (!trigger.ok()) {
      ASSERT_EQ(trigger.status().code(), absl::StatusCode::kInvalidArgument) << Text(metadata);
      ASSERT_FALSE(trigger.status().message().empty()) << Text(metadata);
      ASSERT_TRUE(std::ranges::all_of(trigger.status().message(), [](char c) {
        return c >= ' ' && c <= '~';
      })) << trigger.status();
      continue;
    }
    ++good;
    ASSERT_EQ(spec.metric_name, trigger->metric_name) << Text(metadata);
    ASSERT_EQ(spec.target, trigger->target) << Text(metadata);
    ASSERT_LE(trigger->window, kLongestWindow) << Text(metadata);
    ASSERT_GE(trigger->activation_threshold, 0) << Text(metadata);
  }
  EXPECT_GT(good, 1000);
}

TEST(TriggerKeys, EachSaysWhatIsAllowedAndWhatItIsFor) {
  EXPECT_EQ(TriggerKeys().size(), 46u);
  for (const TriggerKey& key : TriggerKeys()) {
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
