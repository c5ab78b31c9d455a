#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "engine/test_engine_exposition.h"
#include "engine/test_vllm_idle_pages.h"

namespace gpuscaler {
namespace {

TEST(Vllm, RanksOfV1AreAdded) {
  const ModelReading reading = ReadOwnPage(
      Vllm(), R"(# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="meta/llama-8b"} 37.0
vllm:num_requests_running{engine="1",model_name="meta/llama-8b"} 21.0
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{engine="0",model_name="meta/llama-8b"} 12.0
vllm:num_requests_waiting{engine="1",model_name="meta/llama-8b"} 0.0
# TYPE vllm:num_requests_waiting_by_reason gauge
vllm:num_requests_waiting_by_reason{engine="0",model_name="meta/llama-8b",reason="capacity"} 9.0
vllm:num_requests_waiting_by_reason{engine="0",model_name="meta/llama-8b",reason="deferred"} 3.0
# TYPE vllm:engine_sleep_state gauge
vllm:engine_sleep_state{engine="0",model_name="meta/llama-8b",sleep_state="awake"} 1.0
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{engine="0",model_name="meta/llama-8b"} 0.9375
vllm:kv_cache_usage_perc{engine="1",model_name="meta/llama-8b"} 0.25
# TYPE vllm:num_preemptions_total counter
vllm:num_preemptions_total{engine="0",model_name="meta/llama-8b"} 4.0
vllm:num_preemptions_total{engine="1",model_name="meta/llama-8b"} 0.0
# TYPE vllm:num_preemptions_created gauge
vllm:num_preemptions_created{engine="0",model_name="meta/llama-8b"} 1.7672256e+09
# TYPE vllm:prompt_tokens_total counter
vllm:prompt_tokens_total{engine="0",model_name="meta/llama-8b"} 120000.0
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{engine="0",model_name="meta/llama-8b"} 64000.0
# TYPE vllm:request_success_total counter
vllm:request_success_total{engine="0",finished_reason="stop",model_name="meta/llama-8b"} 310.0
vllm:request_success_total{engine="0",finished_reason="length",model_name="meta/llama-8b"} 40.0
vllm:request_success_total{engine="1",finished_reason="abort",model_name="meta/llama-8b"} 0.0
# TYPE vllm:iteration_tokens_total histogram
vllm:iteration_tokens_total_bucket{engine="0",le="1.0",model_name="meta/llama-8b"} 5.0
vllm:iteration_tokens_total_bucket{engine="0",le="+Inf",model_name="meta/llama-8b"} 9.0
vllm:iteration_tokens_total_count{engine="0",model_name="meta/llama-8b"} 9.0
# TYPE vllm:request_queue_time_seconds histogram
vllm:request_queue_time_seconds_bucket{engine="0",le="0.3",model_name="meta/llama-8b"} 300.0
vllm:request_queue_time_seconds_bucket{engine="0",le="+Inf",model_name="meta/llama-8b"} 350.0
vllm:request_queue_time_seconds_count{engine="0",model_name="meta/llama-8b"} 350.0
vllm:request_queue_time_seconds_sum{engine="0",model_name="meta/llama-8b"} 175.5
# TYPE vllm:request_generation_tokens histogram
vllm:request_generation_tokens_bucket{engine="0",le="+Inf",model_name="meta/llama-8b"} 340.0
vllm:request_generation_tokens_count{engine="0",model_name="meta/llama-8b"} 340.0
vllm:request_generation_tokens_sum{engine="0",model_name="meta/llama-8b"} 61000.0
# TYPE vllm:time_to_first_token_seconds histogram
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.001",model_name="meta/llama-8b"} 0.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.25",model_name="meta/llama-8b"} 200.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="+Inf",model_name="meta/llama-8b"} 350.0
# TYPE vllm:inter_token_latency_seconds histogram
vllm:inter_token_latency_seconds_bucket{engine="0",le="0.01",model_name="meta/llama-8b"} 60000.0
vllm:inter_token_latency_seconds_bucket{engine="0",le="+Inf",model_name="meta/llama-8b"} 63650.0
# TYPE process_start_time_seconds gauge
process_start_time_seconds 1.76722499871e+09
)");
  EXPECT_THAT(reading.running, testing::Optional(58));
  EXPECT_THAT(reading.waiting, testing::Optional(12)) << "_by_reason is another metric";
  EXPECT_THAT(reading.kv_cache_usage_ratio, testing::Optional(0.9375)) << "one full rank is full";
  EXPECT_THAT(reading.preemptions, testing::Optional(4));
  EXPECT_THAT(reading.prompt_tokens, testing::Optional(120000));
  EXPECT_THAT(reading.generation_tokens, testing::Optional(64000));
  EXPECT_THAT(reading.answers, testing::Optional(340));
  EXPECT_THAT(reading.answer_tokens, testing::Optional(61000)) << "of finished answers alone";
  EXPECT_THAT(reading.requests_done, testing::Optional(350));
  EXPECT_THAT(reading.queued_requests, testing::Optional(350));
  EXPECT_THAT(reading.queue_seconds, testing::Optional(175.5));
  EXPECT_EQ(CountOf(reading.first_token_seconds), 350);
  EXPECT_EQ(CountOf(reading.output_token_seconds), 63650);
  EXPECT_EQ(reading.limit, std::nullopt) << "vLLM does not export max_num_seqs";
  EXPECT_THAT(reading.counters_began, testing::Optional(1767224998.71));
}

TEST(Vllm, V0HasOlderNamesAndNoRanks) {
  const ModelReading reading = ReadOwnPage(Vllm(), R"(# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{model_name="m"} 3.0
# TYPE vllm:num_requests_swapped gauge
vllm:num_requests_swapped{model_name="m"} 1.0
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{model_name="m"} 2.0
# TYPE vllm:gpu_cache_usage_perc gauge
vllm:gpu_cache_usage_perc{model_name="m"} 0.5
# TYPE vllm:cpu_cache_usage_perc gauge
vllm:cpu_cache_usage_perc{model_name="m"} 0.75
# TYPE vllm:time_per_output_token_seconds histogram
vllm:time_per_output_token_seconds_bucket{le="0.01",model_name="m"} 7.0
vllm:time_per_output_token_seconds_bucket{le="+Inf",model_name="m"} 8.0
)");
  EXPECT_THAT(reading.running, testing::Optional(3));
  EXPECT_THAT(reading.waiting, testing::Optional(3)) << "with the one that was swapped out";
  EXPECT_THAT(reading.kv_cache_usage_ratio, testing::Optional(0.5)) << "the GPU's cache";
  EXPECT_EQ(CountOf(reading.output_token_seconds), 8);
  EXPECT_EQ(reading.requests_done, std::nullopt);
}

TEST(Vllm, CacheWithOldAndNewNameCountsOnce) {
  const ModelReading reading =
      ReadOwnPage(Vllm(), R"(vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.625
vllm:gpu_cache_usage_perc{engine="0",model_name="m"} 0.625
)");
  EXPECT_THAT(reading.kv_cache_usage_ratio, testing::Optional(0.625));
}

TEST(Vllm, ExpositionWithoutVllmMetricsIsAnErrorNotIdle) {
  const auto reading =
      Vllm().read("# HELP python_info Platform\npython_info{major=\"3\"} 1.0\n", {});
  EXPECT_EQ(reading.status().code(), absl::StatusCode::kNotFound) << reading.status();
}

void ExpectIdle(absl::string_view page, absl::string_view model) {
  const auto read = Vllm().read(page, {.histograms = true});
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->models.size(), 1u);
  EXPECT_EQ(read->models[0].model, model);
  const std::optional<ModelReading> reading = ReadingOf(*read, model);
  ASSERT_TRUE(reading.has_value());
  EXPECT_THAT(reading->waiting, testing::Optional(0));
  EXPECT_THAT(reading->running, testing::Optional(0));
  EXPECT_THAT(reading->kv_cache_usage_ratio, testing::Optional(0));
  EXPECT_EQ(reading->limit, std::nullopt);
  for (const ModelNumber counter : kModelCounters) {
    EXPECT_THAT((*reading).*counter, testing::Optional(0));
  }
  EXPECT_EQ(CountOf(reading->first_token_seconds), 0);
  EXPECT_EQ(CountOf(reading->output_token_seconds), 0);
}

TEST(Vllm, BeforeItsFirstRequestEverythingIsZero) { ExpectIdle(kVllmIdle, "tiny"); }

TEST(Vllm, SeveralApiServersBeforeTheirFirstRequestAreIdle) {
  ASSERT_THAT(std::string(kVllmIdleWithTwoApiServers),
              testing::Not(testing::HasSubstr("\nvllm:num_requests_running{")));
  ExpectIdle(kVllmIdleWithTwoApiServers, "we\"ird\\mo,de{l}=1 \xc3\xa9");
}

// The exposition of vLLM 0.32 with --data-parallel-size 2, shortened.
constexpr absl::string_view kBeforeGauges = R"(# TYPE vllm:num_preemptions_total counter
vllm:num_preemptions_total{engine="0",model_name="m"} 0.0
vllm:num_preemptions_total{engine="1",model_name="m"} 0.0
# TYPE vllm:prompt_tokens_total counter
vllm:prompt_tokens_total{engine="0",model_name="m"} 0.0
vllm:prompt_tokens_total{engine="1",model_name="m"} 0.0
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{engine="0",model_name="m"} 0.0
vllm:generation_tokens_total{engine="1",model_name="m"} 0.0
# TYPE vllm:request_success_total counter
vllm:request_success_total{engine="0",finished_reason="stop",model_name="m"} 0.0
vllm:request_success_total{engine="1",finished_reason="stop",model_name="m"} 0.0
# TYPE vllm:request_queue_time_seconds histogram
vllm:request_queue_time_seconds_sum{engine="0",model_name="m"} 0.0
vllm:request_queue_time_seconds_count{engine="0",model_name="m"} 0.0
# TYPE vllm:engine_sleep_state gauge
vllm:engine_sleep_state{engine="0",model_name="m",sleep_state="awake"} 1.0
vllm:engine_sleep_state{engine="1",model_name="m",sleep_state="awake"} 1.0
# TYPE vllm:cache_config_info gauge
vllm:cache_config_info{block_size="16",engine="0",num_gpu_blocks="1024"} 1.0
)";

TEST(Vllm, SeveralApiServersExportNoGaugesBeforeTheFirstRequestAndAreIdle) {
  const ModelReading reading = ReadOwnPage(Vllm(), kBeforeGauges);
  EXPECT_THAT(reading.waiting, testing::Optional(0));
  EXPECT_THAT(reading.running, testing::Optional(0));
  EXPECT_THAT(reading.kv_cache_usage_ratio, testing::Optional(0));
  EXPECT_EQ(reading.limit, std::nullopt) << "that is no gauge of vLLM's";
}

TEST(Vllm, MissingGaugesAreUnknownUnlessEveryCounterIsZero) {
  const std::string page(kBeforeGauges);
  const struct {
    const char* name;
    std::string page;
  } rows[] = {
      {"a prompt was read",
       absl::StrReplaceAll(page, {{"prompt_tokens_total{engine=\"1\",model_name=\"m\"} 0.0",
                                   "prompt_tokens_total{engine=\"1\",model_name=\"m\"} 7.0"}})},
      {"a request was done",
       absl::StrReplaceAll(page, {{"finished_reason=\"stop\",model_name=\"m\"} 0.0",
                                   "finished_reason=\"stop\",model_name=\"m\"} 1.0"}})},
      {"a counter is missing",
       absl::StrReplaceAll(page, {{"vllm:generation_tokens", "vllm:other_tokens"}})},
      {"a counter is no number",
       absl::StrReplaceAll(page, {{"generation_tokens_total{engine=\"1\",model_name=\"m\"} 0.0",
                                   "generation_tokens_total{engine=\"1\",model_name=\"m\"} NaN"}})},
  };
  for (const auto& row : rows) {
    const ModelReading reading = ReadOwnPage(Vllm(), row.page);
    EXPECT_EQ(reading.waiting, std::nullopt) << row.name;
    EXPECT_EQ(reading.running, std::nullopt) << row.name;
    EXPECT_EQ(reading.kv_cache_usage_ratio, std::nullopt) << row.name;
  }
}

TEST(Vllm, ExportedGaugesAreNotReplaced) {
  const ModelReading reading = ReadOwnPage(
      Vllm(), absl::StrCat(kBeforeGauges,
                           "vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 1.0\n"));
  EXPECT_THAT(reading.running, testing::Optional(1)) << "the first request runs";
}

// V0 and simulators such as llm-d-inference-sim.
TEST(Vllm, MissingCountersAreZeroBeforeTheFirstRequest) {
  constexpr absl::string_view kIdle = R"(# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{model_name="m"} 0.0
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{model_name="m"} 0.0
# TYPE vllm:time_to_first_token_seconds histogram
# TYPE vllm:request_success_total counter
)";
  const ModelReading reading = ReadOwnPage(Vllm(), kIdle);
  EXPECT_EQ(CountOf(reading.first_token_seconds), 0);
  EXPECT_THAT(reading.requests_done, testing::Optional(0));
  EXPECT_THAT(reading.prompt_tokens, testing::Optional(0));
  EXPECT_THAT(reading.generation_tokens, testing::Optional(0));
  EXPECT_EQ(reading.kv_cache_usage_ratio, std::nullopt) << "a gauge";

  const ModelReading serves = ReadOwnPage(
      Vllm(), absl::StrReplaceAll(
                  kIdle, {{"running{model_name=\"m\"} 0.0", "running{model_name=\"m\"} 1.0"}}));
  EXPECT_EQ(serves.requests_done, std::nullopt) << "it may not export any";
  const ModelReading served =
      ReadOwnPage(Vllm(), absl::StrCat(kIdle, "vllm:prompt_tokens_total{model_name=\"m\"} 9.0\n"));
  EXPECT_EQ(served.requests_done, std::nullopt) << "its first request may have been aborted";
}

}  // namespace
}  // namespace gpuscaler
