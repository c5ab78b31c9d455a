#include <algorithm>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trigger/source_keys.h"
#include "trigger/test_parsed_trigger.h"
#include "trigger/test_triggers.h"
#include "trigger/trigger.h"
#include "trigger/trigger_source.h"

namespace gpuscaler {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr absl::string_view kTeam = "team-a";

Metadata Stream(const std::string& metric_type) {
  return {{"metricType", metric_type},
          {"redisAddress", "redis:6379"},
          {"redisStream", "jobs"},
          {"jobsPerReplica", "5"}};
}

Metadata With(Metadata metadata, const std::string& key, const std::string& value) {
  metadata[key] = value;
  return metadata;
}

TEST(SourceTrigger, QueueHasNoWindowAndItsTargetIsJobsPerReplica) {
  const Trigger trigger = Parsed(With(Stream("redis_stream_lag"), "redisConsumerGroup", "work"));
  EXPECT_EQ(trigger.target, 5);
  EXPECT_EQ(trigger.window, absl::ZeroDuration());
  EXPECT_EQ(trigger.activation_window, absl::ZeroDuration());
  const auto source = SourceOf(trigger, kTeam);
  ASSERT_TRUE(source.has_value());
  EXPECT_EQ(source->namespace_name, "team-a");
  const RedisQueue want{
      .address = "redis:6379", .length = RedisQueue::Length::kLag, .key = "jobs", .group = "work"};
  EXPECT_EQ(std::get<RedisQueue>(source->target), want);
}

TEST(SourceTrigger, EveryKeyOfAQueueReachesItsSource) {
  const Trigger trigger = Parsed({{"metricType", "redis_list_length"},
                                  {"redisAddress", "redis.infra.svc:6380"},
                                  {"redisList", "todo"},
                                  {"redisDatabase", "3"},
                                  {"redisTls", "true"},
                                  {"redisUsername", "scaler"},
                                  {"redisPasswordFromEnv", "s3cret"},
                                  {"endpointCa", "-----BEGIN CERTIFICATE-----\nx\n"},
                                  {"targetValue", "5"},
                                  {"jobsPerReplica", "5.0"}});
  const SignalSource source = *SourceOf(trigger, kTeam);
  const RedisQueue want{.address = "redis.infra.svc:6380",
                        .database = 3,
                        .tls = true,
                        .length = RedisQueue::Length::kList,
                        .key = "todo",
                        .group = ""};
  EXPECT_EQ(std::get<RedisQueue>(source.target), want);
  EXPECT_EQ(source.credentials.username, "scaler");
  EXPECT_EQ(source.credentials.password, "s3cret");
  EXPECT_THAT(source.credentials.ca_pem, HasSubstr("BEGIN"));
}

TEST(SourceTrigger, PageIsReadByItsSelectorAndARateHasAWindow) {
  Metadata metadata = {{"metricType", "prometheus"},
                       {"prometheusEndpoint", "http://gateway:9090/metrics"},
                       {"prometheusMetric", "queue_size{pool=\"chat\"}"},
                       {"targetValue", "8"},
                       {"bearerTokenFromEnv", "t0ken"}};
  const Trigger gauge = Parsed(metadata);
  EXPECT_EQ(gauge.window, absl::ZeroDuration());
  const SignalSource source = *SourceOf(gauge, kTeam);
  const MetricsEndpoint want{
      .url = "http://gateway:9090/metrics", .selector = "queue_size{pool=\"chat\"}", .rate = false};
  EXPECT_EQ(std::get<MetricsEndpoint>(source.target), want);
  EXPECT_EQ(source.credentials.bearer_token, "t0ken");

  const Trigger rate = Parsed(With(metadata, "prometheusKind", "rate"));
  EXPECT_TRUE(rate.metrics_endpoint.rate);
  EXPECT_EQ(SourceQueryOf(rate, kStaleness).window, absl::Seconds(15));

  EXPECT_FALSE(Parsed(With(metadata, "prometheusAbsent", "error")).metrics_endpoint.zero_if_absent);
  const Trigger absent = Parsed(With(metadata, "prometheusAbsent", "0"));
  EXPECT_TRUE(std::get<MetricsEndpoint>(SourceOf(absent, kTeam)->target).zero_if_absent);
}

TEST(SourceTrigger, EnginesAreDiscoveredUnlessTheirAddressIsSet) {
  const Trigger found = Parsed({{"metricType", "requests_in_flight"}, {"targetValue", "10"}});
  EXPECT_TRUE(std::holds_alternative<DiscoveredEngines>(SourceOf(found, kTeam)->target));
  const Trigger with_token = Parsed({{"metricType", "requests_in_flight"},
                                     {"targetValue", "10"},
                                     {"bearerTokenFromEnv", "t0ken"}});
  EXPECT_EQ(SourceOf(with_token, kTeam), SourceOf(found, kTeam)) << "agents send no token";
  EXPECT_EQ(found.window, absl::Seconds(15));
  EXPECT_EQ(found.activation_window, absl::Seconds(60));
  EXPECT_EQ(found.warmup, absl::Seconds(300));
  EXPECT_EQ(found.aggregation, Aggregation::kSum);
  EXPECT_EQ(found.frozen_window, absl::Minutes(5));

  const EngineEndpoint vllm{.url = "http://llm:8000/metrics", .engine = "vllm"};
  const std::string url = "http://llm:8000/metrics";
  EXPECT_EQ(Parsed({{"profile", "vllm-inference"}, {"vllmEndpoint", url}}).engine_endpoint, vllm);
  EXPECT_EQ(Parsed({{"metricType", "vllm_queue_depth"}, {"vllmEndpoint", url}}).engine_endpoint,
            vllm);
  EXPECT_EQ(Parsed({{"metricType", "vllm_queue_depth"}, {"engineEndpoint", url}}).engine_endpoint,
            vllm);
  EXPECT_EQ(
      Parsed({{"metricType", "requests_waiting"}, {"engineEndpoint", url}}).engine_endpoint.engine,
      "");
  EXPECT_EQ(Parsed({{"metricType", "triton_queue_wait_ms"}, {"tritonEndpoint", url}})
                .engine_endpoint.engine,
            "triton");
}

TEST(SourceTrigger, KeepsTheWrittenKeyOfItsEndpointApartFromTheSource) {
  const std::string url = "http://llm:8000/metrics";
  const auto queue_depth = [&url](const std::string& key) {
    return Parsed({{"metricType", "vllm_queue_depth"}, {key, url}});
  };
  for (const char* key : {"engineEndpoint", "vllmEndpoint", "vllmEndpointFromEnv"}) {
    EXPECT_EQ(queue_depth(key).endpoint_key, key);
    EXPECT_EQ(SourceOf(queue_depth(key), kTeam), SourceOf(queue_depth("engineEndpoint"), kTeam))
        << key << ": equal sources are read once";
  }
  EXPECT_EQ(Parsed({{"metricType", "triton_request_rate"}, {"tritonEndpoint", url}}).endpoint_key,
            "tritonEndpoint");
  EXPECT_EQ(Parsed(Stream("redis_stream_length")).endpoint_key, "redisAddress");
  EXPECT_EQ(Parsed({{"metricType", "prometheus"},
                    {"targetValue", "8"},
                    {"prometheusMetric", "queued"},
                    {"prometheusEndpoint", url}})
                .endpoint_key,
            "prometheusEndpoint");
  EXPECT_EQ(Parsed({{"metricType", "vllm_queue_depth"}}).endpoint_key, "");
}

TEST(SourceTrigger, GpusAloneHaveNoSource) {
  EXPECT_FALSE(SourceOf(Parsed({}), kTeam).has_value());
  EXPECT_FALSE(SourceOf(Parsed({{"profile", "batch"}}), kTeam).has_value());
  EXPECT_FALSE(
      SourceOf(Parsed({{"profile", "vllm-inference"}, {"metricType", "memory_used_percent"}}),
               kTeam)
          .has_value());
}

TEST(SourceTrigger, ProfileOnPressureReadsItAsFarBackAsItsFallbackNeeds) {
  const Trigger trigger = Parsed({{"profile", "tgi-inference"}, {"maxConcurrency", "32"}});
  EXPECT_TRUE(std::holds_alternative<DiscoveredEngines>(SourceOf(trigger, kTeam)->target));
  const EngineQuery query = SourceQueryOf(trigger, kStaleness);
  EXPECT_EQ(query.metric, EngineMetric::kPressurePercent);
  EXPECT_EQ(query.max_concurrency, 32);
  EXPECT_EQ(query.look_back, kStaleness.forget_after);
}

TEST(SourceTrigger, DemandCountsUnlessTheKeyIsSetOtherwise) {
  EXPECT_EQ(Parsed({{"profile", "vllm-inference"}}).demand, DemandUse::kOn);
  const Trigger observed = Parsed({{"profile", "vllm-inference"}, {"demand", "observe"}});
  EXPECT_EQ(observed.demand, DemandUse::kObserve);
  EXPECT_TRUE(ComputesDemand(observed));
  EXPECT_FALSE(CountsDemand(observed));
  EXPECT_EQ(SourceQueryOf(observed, kStaleness).demand_window, kLongestWindow);

  const Trigger on =
      Parsed({{"metricType", "engine_pressure"}, {"tpotSloMs", "30"}, {"ttftSloMs", "1000"}});
  EXPECT_TRUE(CountsDemand(on));
  EXPECT_EQ(on.tpot_slo, absl::Milliseconds(30));
  EXPECT_EQ(on.ttft_slo, absl::Seconds(1));

  const Trigger off = Parsed({{"profile", "tgi-inference"}, {"demand", "off"}});
  EXPECT_FALSE(ComputesDemand(off));
  EXPECT_EQ(SourceQueryOf(off, kStaleness).demand_window, absl::ZeroDuration());
  EXPECT_FALSE(ComputesDemand(Parsed({{"profile", "vllm-requests"}})));
}

TEST(SourceTrigger, DemandInReplicasHasATargetOfOne) {
  const Trigger trigger = Parsed({{"metricType", "demand_replicas"}});
  EXPECT_EQ(trigger.target, 1);
  EXPECT_TRUE(CountsDemand(trigger));
  EXPECT_EQ(SourceQueryOf(trigger, kStaleness).metric, EngineMetric::kDemand);
  EXPECT_EQ(SpecOf({{"metricType", "demand_replicas"}}, BuiltInProfiles()).target, 1);
  EXPECT_EQ(Refused({{"metricType", "demand_replicas"}, {"demand", "off"}}),
            "demand: demand_replicas is the demand; leave the key out");
}

TEST(SourceTrigger, KeysOfDemandNeedEnginesWithPressureOrDemand) {
  EXPECT_EQ(Refused({{"metricType", "requests_waiting"}, {"demand", "on"}}),
            "demand: metricType requests_waiting cannot use it; engine_pressure, demand_replicas "
            "or a profile that counts an engine's pressure can");
  EXPECT_THAT(Refused({{"tpotSloMs", "30"}}), HasSubstr("tpotSloMs: metricType gpu_utilization"));
  EXPECT_THAT(Refused({{"profile", "vllm-inference"}, {"demand", "onn"}}),
              HasSubstr("demand=\"onn\": use on, off or observe; did you mean \"on\"?"));
  for (const char* bad : {"0", "-5", "600001", "30ms", ""}) {
    EXPECT_THAT(Refused({{"profile", "vllm-inference"}, {"tpotSloMs", bad}}),
                HasSubstr("use milliseconds, 1 to 600000"))
        << bad;
  }
}

TEST(SourceTrigger, EngineMetricsHaveTheirNumberModelAndWindow) {
  const Trigger trigger = Parsed({{"metricType", "ttft_ms"},
                                  {"targetValue", "500"},
                                  {"model", "llama-3"},
                                  {"window", "20s"},
                                  {"activationWindow", "2m"}});
  const EngineQuery want{.metric = EngineMetric::kTimeToFirstTokenMs,
                         .model = "llama-3",
                         .window = absl::Seconds(20),
                         .look_back = absl::Minutes(2) + kStaleness.stale_after,
                         .max_concurrency = std::nullopt};
  EXPECT_EQ(SourceQueryOf(trigger, kStaleness), want);
}

TEST(SourceTrigger, ErrorOfAnUnusableKeyNamesMetricTypesThatCanUseIt) {
  EXPECT_EQ(Refused({{"redisConsumerGroup", "work"}}),
            "redisConsumerGroup: metricType gpu_utilization cannot use it; redis_stream_lag or "
            "redis_stream_pending can");
  EXPECT_THAT(Refused({{"model", "llama"}}),
              HasSubstr("a profile that counts an engine's pressure can"));
  EXPECT_THAT(Refused(With(Stream("redis_stream_length"), "vllmEndpoint", "http://a")),
              HasSubstr("vllmEndpoint: metricType redis_stream_length cannot use it"));
  EXPECT_THAT(Refused({{"metricType", "triton_request_rate"}, {"vllmEndpoint", "http://a"}}),
              HasSubstr("cannot use it"));
  EXPECT_THAT(Refused({{"jobsPerReplica", "5"}}), HasSubstr("prometheus, redis_stream_length"));
}

TEST(SourceTrigger, ErrorNamesKeysThatTheMetricTypeNeeds) {
  EXPECT_EQ(Refused({{"metricType", "redis_stream_lag"}, {"redisAddress", "redis:6379"}}),
            "metricType: redis_stream_lag needs redisStream; metricType: redis_stream_lag needs "
            "redisConsumerGroup");
  EXPECT_THAT(Refused({{"metricTypeFromEnv", "redis_list_length"}}),
              HasSubstr("metricTypeFromEnv: redis_list_length needs redisAddress"));
  EXPECT_THAT(Refused({{"metricType", "prometheus"}}), HasSubstr("needs prometheusMetric"));
  EXPECT_EQ(Refused({{"metricType", "pending_ratio"}}),
            "metricType: pending_ratio needs maxConcurrency, which it divides by");
}

TEST(SourceTrigger, ContradictingKeysAreRefused) {
  EXPECT_THAT(Refused(With(Stream("redis_stream_length"), "targetValue", "6")),
              HasSubstr("jobsPerReplica: it is another name of targetValue"));
  EXPECT_THAT(Refused({{"metricType", "requests_waiting"},
                       {"vllmEndpoint", "http://a"},
                       {"engineEndpoint", "http://b"}}),
              HasSubstr("vllmEndpoint: engineEndpoint names the endpoint already"));
  for (const char* key : {"vllmEndpoint", "vllmEndpointFromEnv"}) {
    EXPECT_THAT(
        Refused({{"metricType", "requests_waiting"}, {key, "http://a"}, {"engine", "sglang"}}),
        HasSubstr(absl::StrCat("engine: ", key, " is of vllm")));
  }
  EXPECT_THAT(Refused({{"metricType", "vllm_queue_depth"},
                       {"engineEndpoint", "http://a"},
                       {"engine", "sglang"}}),
              HasSubstr("engine: vllm_queue_depth is of vllm"));
  EXPECT_THAT(Refused({{"metricType", "requests_waiting"}, {"engine", "sglang"}}),
              HasSubstr("engineEndpoint, which is not given"));
  EXPECT_THAT(Refused({{"metricType", "requests_waiting"},
                       {"credentials", "ours"},
                       {"bearerTokenFromEnv", "abc"}}),
              HasSubstr("bearerTokenFromEnv: credentials names what opens the endpoint already"));
}

TEST(SourceTrigger, NoErrorShowsASecret) {
  const std::string secret = "hunter2";
  const std::string broken = absl::StrCat(secret, "\n");
  for (const char* key : {"redisPassword", "bearerToken", "endpointCa", "redisPasword",
                          "redis_password", "apiKey", "bearer_token"}) {
    EXPECT_THAT(Refused({{key, broken}}), Not(HasSubstr(secret))) << key;
    EXPECT_THAT(Refused(With(Stream("redis_stream_length"), key, broken)), Not(HasSubstr(secret)))
        << key;
  }
}

TEST(SourceTrigger, SpecWithInvalidJobsHasTheProfilesTargetOrOne) {
  EXPECT_EQ(SpecOf(Stream("redis_stream_length"), BuiltInProfiles()).target, 5);
  EXPECT_EQ(SpecOf({{"jobsPerReplica", "many"}}, BuiltInProfiles()).target, 1);
}

TEST(DemandKeys, BoundsAreChecked) {
  struct Row {
    const char* key;
    std::string value;
  };
  const std::vector<Row> rows = {
      {"engine", "vlm"},
      {"engineEndpoint", "llm:8000"},
      {"engineEndpoint", absl::StrCat("http://", std::string(2000, 'a'))},
      {"engineEndpoint", "http://a\r\nx"},
      {"frozenWindow", "1s"},
      {"frozenWindow", "16m"},
      {"prometheusKind", "counter"},
      {"prometheusAbsent", "zero"},
      {"prometheusAbsent", "1"},
      {"prometheusAbsent", ""},
      {"prometheusMetric", ""},
      {"redisDatabase", "-1"},
      {"redisTls", "yes"},
      {"credentials", "../etc"},
      {"credentials", "jobs.prod"},
      {"credentials", "4711"},
      {"endpointCa", "x"},
  };
  for (const Row& row : rows) {
    EXPECT_THAT(Refused({{row.key, row.value}}), HasSubstr(absl::StrCat(row.key))) << row.value;
    EXPECT_THAT(Refused({{row.key, row.value}}), HasSubstr("use ")) << row.value;
  }
  EXPECT_THAT(Refused({{"engine", "vlm"}}), HasSubstr("did you mean \"vllm\"?"));
  EXPECT_THAT(Refused({{"credentials", "jobs.prod"}}), HasSubstr("no dot"));
  EXPECT_THAT(Refused({{"prometheusAbsent", "zero"}}), HasSubstr("use error or 0"));
}

TEST(DemandKeys, EnginesHaveNames) {
  EXPECT_EQ(EngineNames().size(), 10u);
  for (const MetricTypeInfo& metric : MetricTypes()) {
    if (metric.engine.empty()) continue;
    EXPECT_TRUE(std::ranges::find(EngineNames(), metric.engine) != EngineNames().end());
  }
}

TEST(SourceTrigger, GatewayUrlIsASecondSourceOfATriggerThatComputesDemand) {
  const Metadata gateway = {{"gatewayUrl", "http://gateway:9090/metrics"},
                            {"prometheusMetric", "queue_size"},
                            {"prometheusAbsent", "0"},
                            {"bearerToken", "t"}};
  for (const Metadata& metric :
       std::vector<Metadata>{{{"profile", "vllm-inference"}},
                             {{"profile", "vllm-inference"}, {"demand", "observe"}},
                             {{"metricType", "engine_pressure"}, {"targetValue", "80"}},
                             {{"metricType", "demand_replicas"}}}) {
    Metadata metadata = metric;
    metadata.insert(gateway.begin(), gateway.end());
    const Trigger trigger = Parsed(metadata);
    EXPECT_TRUE(CountsHeldRequests(trigger)) << Text(metadata);
    const SignalSource engines = *SourceOf(trigger, kTeam);
    EXPECT_TRUE(std::holds_alternative<DiscoveredEngines>(engines.target));
    EXPECT_EQ(engines.credentials, EndpointCredentials()) << "the token is the gateway's";
    const SignalSource source = *GatewayOf(trigger, kTeam);
    const auto& page = std::get<MetricsEndpoint>(source.target);
    EXPECT_EQ(page.url, "http://gateway:9090/metrics");
    EXPECT_EQ(page.selector, "queue_size");
    EXPECT_TRUE(page.zero_if_absent);
    EXPECT_EQ(source.credentials.bearer_token, "t");
  }
  EXPECT_FALSE(GatewayOf(Parsed({{"profile", "vllm-inference"}}), kTeam).has_value());
}

TEST(SourceTrigger, KeepsTheWrittenKeyOfItsGateway) {
  for (const char* key : {"gatewayUrl", "gatewayUrlFromEnv"}) {
    const Trigger trigger = Parsed({{"profile", "vllm-inference"},
                                    {"prometheusMetric", "queue_size"},
                                    {key, "http://gateway:9090/metrics"}});
    EXPECT_EQ(trigger.gateway_key, key);
    EXPECT_EQ(trigger.endpoint_key, "");
  }
  EXPECT_EQ(Parsed({{"profile", "vllm-inference"}}).gateway_key, "");
}

TEST(SourceTrigger, KeepsTheWrittenKeyOfItsSelector) {
  for (const char* key : {"prometheusMetric", "prometheusMetricFromEnv"}) {
    EXPECT_EQ(Parsed({{"metricType", "prometheus"},
                      {"targetValue", "8"},
                      {key, "queued"},
                      {"prometheusEndpoint", "http://gateway:9090/metrics"}})
                  .selector_key,
              key);
    EXPECT_EQ(Parsed({{"profile", "vllm-inference"},
                      {"gatewayUrl", "http://gateway:9090/metrics"},
                      {key, "queued"}})
                  .selector_key,
              key);
  }
  EXPECT_EQ(Parsed({{"profile", "vllm-inference"}}).selector_key, "");
}

TEST(SourceTrigger, GatewayUrlIsRefusedIfNothingCountsIt) {
  const Metadata gateway = {{"profile", "vllm-inference"},
                            {"gatewayUrl", "http://gateway:9090/metrics"}};
  const auto with = [&](const std::string& key, const std::string& value) {
    Metadata metadata = gateway;
    metadata[key] = value;
    return metadata;
  };
  EXPECT_THAT(Refused(gateway), HasSubstr("gatewayUrl: it needs prometheusMetric"));
  Metadata off = with("prometheusMetric", "queue_size");
  off["demand"] = "off";
  EXPECT_THAT(Refused(off), HasSubstr("gatewayUrl: what it holds adds to the demand"));
  EXPECT_THAT(Refused({{"profile", "vllm-inference"}, {"prometheusMetric", "queue_size"}}),
              HasSubstr("cannot use it without gatewayUrl"));
  EXPECT_THAT(Refused(with("prometheusEndpoint", "http://gateway:9090")),
              HasSubstr("prometheusEndpoint: metricType memory_used_percent cannot use it"));
  EXPECT_THAT(Refused({{"profile", "vllm-requests"}, {"gatewayUrl", "http://gateway:9090"}}),
              HasSubstr("gatewayUrl: metricType requests_in_flight cannot use it"));
}

}  // namespace
}  // namespace gpuscaler
