#include "engine/test_engine_exposition.h"

namespace gpuscaler {
namespace {

constexpr absl::string_view kSglangWithPriorities = R"(# TYPE sglang:num_running_reqs gauge
sglang:num_running_reqs{engine_type="unified",model_name="m",pp_rank="0",priority="",tp_rank="0"} 8.0
sglang:num_running_reqs{engine_type="unified",model_name="m",pp_rank="0",priority="0",tp_rank="0"} 5.0
sglang:num_running_reqs{engine_type="unified",model_name="m",pp_rank="0",priority="10",tp_rank="0"} 3.0
# TYPE sglang:num_queue_reqs gauge
sglang:num_queue_reqs{engine_type="unified",model_name="m",pp_rank="0",priority="",tp_rank="0"} 2.0
sglang:num_queue_reqs{engine_type="unified",model_name="m",pp_rank="0",priority="10",tp_rank="0"} 2.0
# TYPE sglang:num_grammar_queue_reqs gauge
sglang:num_grammar_queue_reqs{engine_type="unified",model_name="m",pp_rank="0",priority="",tp_rank="0"} 4.0
# TYPE sglang:token_usage gauge
sglang:token_usage{engine_type="unified",model_name="m",pp_rank="0",priority="",tp_rank="0"} 0.375
# TYPE sglang:gen_throughput gauge
sglang:gen_throughput{engine_type="unified",model_name="m",pp_rank="0",tp_rank="0"} NaN
# TYPE sglang:num_requests_total counter
sglang:num_requests_total{is_streaming="false",model_name="m",priority=""} 1.0
sglang:num_requests_total{is_streaming="false",model_name="m",priority="0"} 99.0
sglang:num_requests_total{is_streaming="true",model_name="m",priority="10"} 11.0
# TYPE sglang:prompt_tokens_total counter
sglang:prompt_tokens_total{model_name="m",priority=""} 4.0
sglang:prompt_tokens_total{model_name="m",priority="0"} 9900.0
sglang:prompt_tokens_total{model_name="m",priority="10"} 1100.0
# TYPE sglang:generation_tokens_total counter
sglang:generation_tokens_total{model_name="m",priority="0"} 990.0
sglang:generation_tokens_total{model_name="m",priority="10"} 110.0
# TYPE sglang:generation_tokens_histogram histogram
sglang:generation_tokens_histogram_sum{model_name="m",priority="0"} 990.0
sglang:generation_tokens_histogram_sum{model_name="m",priority="10"} 110.0
sglang:generation_tokens_histogram_count{model_name="m",priority="0"} 9.0
sglang:generation_tokens_histogram_count{model_name="m",priority="10"} 2.0
# TYPE sglang:time_to_first_token_seconds histogram
sglang:time_to_first_token_seconds_bucket{is_streaming="false",le="0.1",model_name="m",priority="0"} 90.0
sglang:time_to_first_token_seconds_bucket{is_streaming="false",le="+Inf",model_name="m",priority="0"} 100.0
sglang:time_to_first_token_seconds_bucket{is_streaming="true",le="0.1",model_name="m",priority="10"} 10.0
sglang:time_to_first_token_seconds_bucket{is_streaming="true",le="+Inf",model_name="m",priority="10"} 11.0
# TYPE sglang:inter_token_latency_seconds histogram
sglang:inter_token_latency_seconds_bucket{le="0.1",model_name="m",priority="0"} 900.0
sglang:inter_token_latency_seconds_bucket{le="+Inf",model_name="m",priority="0"} 980.0
sglang:inter_token_latency_seconds_bucket{le="0.1",model_name="m",priority="10"} 90.0
sglang:inter_token_latency_seconds_bucket{le="+Inf",model_name="m",priority="10"} 100.0
# TYPE sglang:queue_time_seconds histogram
sglang:queue_time_seconds_sum{engine_type="unified",model_name="m",pp_rank="0",priority="",tp_rank="0"} 12.5
sglang:queue_time_seconds_count{engine_type="unified",model_name="m",pp_rank="0",priority="",tp_rank="0"} 109.0
)";

TEST(Sglang, RequestsOfAllPrioritiesCountOnce) {
  const ModelReading reading = ReadOwnPage(Sglang(), kSglangWithPriorities);
  EXPECT_THAT(reading.running, testing::Optional(8));
  EXPECT_THAT(reading.waiting, testing::Optional(6)) << "2 in the queue, 4 for their grammar";
  EXPECT_THAT(reading.kv_cache_usage_ratio, testing::Optional(0.375));
  EXPECT_THAT(reading.requests_done, testing::Optional(111));
  EXPECT_THAT(reading.queue_seconds, testing::Optional(12.5));
  EXPECT_THAT(reading.queued_requests, testing::Optional(109));
  EXPECT_THAT(reading.prompt_tokens, testing::Optional(11004));
  EXPECT_THAT(reading.generation_tokens, testing::Optional(1100));
  EXPECT_THAT(reading.answers, testing::Optional(11));
  EXPECT_THAT(reading.answer_tokens, testing::Optional(1100));
  EXPECT_EQ(CountOf(reading.first_token_seconds), 111);
  EXPECT_EQ(CountOf(reading.output_token_seconds), 1080);
}

// Disaggregated prefill and decode, each with priorities.
constexpr absl::string_view kSglangPrefill = R"(# TYPE sglang:num_running_reqs gauge
sglang:num_running_reqs{engine_type="prefill",model_name="m",pp_rank="0",priority="",tp_rank="0"} 1.0
sglang:num_queue_reqs{engine_type="prefill",model_name="m",pp_rank="0",priority="",tp_rank="0"} 2.0
sglang:num_grammar_queue_reqs{engine_type="prefill",model_name="m",pp_rank="0",priority="",tp_rank="0"} 0.0
sglang:num_prefill_bootstrap_queue_reqs{engine_type="prefill",model_name="m",pp_rank="0",priority="",tp_rank="0"} 5.0
sglang:num_prefill_bootstrap_queue_reqs{engine_type="prefill",model_name="m",pp_rank="0",priority="1",tp_rank="0"} 5.0
sglang:num_prefill_inflight_queue_reqs{engine_type="prefill",model_name="m",pp_rank="0",priority="",tp_rank="0"} 30.0
sglang:num_decode_prealloc_queue_reqs{engine_type="prefill",model_name="m",pp_rank="0",priority="",tp_rank="0"} 0.0
sglang:num_decode_transfer_queue_reqs{engine_type="prefill",model_name="m",pp_rank="0",priority="",tp_rank="0"} 0.0
)";
constexpr absl::string_view kSglangDecode = R"(# TYPE sglang:num_running_reqs gauge
sglang:num_running_reqs{engine_type="decode",model_name="m",pp_rank="0",priority="",tp_rank="0"} 40.0
sglang:num_queue_reqs{engine_type="decode",model_name="m",pp_rank="0",priority="",tp_rank="0"} 1.0
sglang:num_grammar_queue_reqs{engine_type="decode",model_name="m",pp_rank="0",priority="",tp_rank="0"} 0.0
sglang:num_prefill_bootstrap_queue_reqs{engine_type="decode",model_name="m",pp_rank="0",priority="",tp_rank="0"} 0.0
sglang:num_prefill_inflight_queue_reqs{engine_type="decode",model_name="m",pp_rank="0",priority="",tp_rank="0"} 0.0
sglang:num_decode_prealloc_queue_reqs{engine_type="decode",model_name="m",pp_rank="0",priority="",tp_rank="0"} 7.0
sglang:num_decode_prealloc_queue_reqs{engine_type="decode",model_name="m",pp_rank="0",priority="1",tp_rank="0"} 7.0
sglang:num_decode_transfer_queue_reqs{engine_type="decode",model_name="m",pp_rank="0",priority="",tp_rank="0"} 3.0
sglang:num_decode_transfer_queue_reqs{engine_type="decode",model_name="m",pp_rank="0",priority="1",tp_rank="0"} 3.0
)";
constexpr absl::string_view kSglangPrefillBefore =
    R"(sglang:num_running_reqs{engine_type="prefill",model_name="m",tp_rank="0"} 1.0
sglang:num_queue_reqs{engine_type="prefill",model_name="m",tp_rank="0"} 2.0
sglang:num_prefill_prealloc_queue_reqs{engine_type="prefill",model_name="m",tp_rank="0"} 5.0
)";

TEST(Sglang, RequestsWaitInEachQueueBeforeTheBatch) {
  const struct {
    const char* name;
    absl::string_view page;
    double want;
  } rows[] = {{"prefill: queue and bootstrap, not what is sent", kSglangPrefill, 7},
              {"decode: queue, prealloc and transfer", kSglangDecode, 11},
              {"prefill, the name before", kSglangPrefillBefore, 7}};
  for (const auto& row : rows) {
    EXPECT_THAT(ReadOwnPage(Sglang(), row.page).waiting, testing::Optional(row.want)) << row.name;
  }
}

TEST(Sglang, NotANumberIsUnknown) {
  const ModelReading reading =
      ReadOwnPage(Sglang(), R"(sglang:num_running_reqs{model_name="m",tp_rank="0"} 1.0
sglang:num_queue_reqs{model_name="m",tp_rank="0"} NaN
)");
  EXPECT_THAT(reading.running, testing::Optional(1));
  EXPECT_EQ(reading.waiting, std::nullopt);
}

TEST(Sglang, RanksOfAGroupCountOnceAndDataParallelRanksAdd) {
  const struct {
    const char* name;
    const char* page;
    double want;
  } rows[] = {
      {"all ranks report", R"(sglang:num_running_reqs{model_name="m",pp_rank="0",tp_rank="0"} 8
sglang:num_running_reqs{model_name="m",pp_rank="0",tp_rank="1"} 8
sglang:num_running_reqs{model_name="m",pp_rank="1",tp_rank="0"} 8
sglang:num_running_reqs{model_name="m",pp_rank="1",tp_rank="1"} 8
)",
       8},
      {"data parallelism, all ranks report",
       R"(sglang:num_running_reqs{dp_rank="0",model_name="m",tp_rank="0"} 8
sglang:num_running_reqs{dp_rank="0",model_name="m",tp_rank="1"} 8
sglang:num_running_reqs{dp_rank="1",model_name="m",tp_rank="0"} 3
sglang:num_running_reqs{dp_rank="1",model_name="m",tp_rank="1"} 3
)",
       11},
      {"data-parallel attention",
       R"(sglang:num_running_reqs{dp_rank="0",model_name="m",tp_rank="0"} 8
sglang:num_running_reqs{dp_rank="1",model_name="m",tp_rank="10"} 2
sglang:num_running_reqs{dp_rank="1",model_name="m",tp_rank="4"} 3
)",
       11},
  };
  for (const auto& row : rows)
    EXPECT_THAT(ReadOwnPage(Sglang(), row.page).running, testing::Optional(row.want)) << row.name;
}

// The exposition of 0.5 with --skip-server-warmup: prometheus_client in multiprocess mode omits
// metrics without a value, and HELP lines.
constexpr absl::string_view kSglangFreshlyStarted =
    R"(# HELP sglang:max_total_num_tokens Multiprocess metric
# TYPE sglang:max_total_num_tokens gauge
sglang:max_total_num_tokens{engine_type="unified",model_name="m",moe_ep_rank="0",pp_rank="0",tp_rank="0"} 570979.0
# HELP sglang:context_len Multiprocess metric
# TYPE sglang:context_len gauge
sglang:context_len{engine_type="unified",model_name="m",moe_ep_rank="0",pp_rank="0",tp_rank="0"} 131072.0
)";

// The exposition after 30 s without requests.
constexpr absl::string_view kSglangIdle = R"(# HELP sglang:num_running_reqs Multiprocess metric
# TYPE sglang:num_running_reqs gauge
sglang:num_running_reqs{engine_type="unified",model_name="m",moe_ep_rank="0",pp_rank="0",tp_rank="0"} 0.0
# HELP sglang:num_queue_reqs Multiprocess metric
# TYPE sglang:num_queue_reqs gauge
sglang:num_queue_reqs{engine_type="unified",model_name="m",moe_ep_rank="0",pp_rank="0",tp_rank="0"} 0.0
# HELP sglang:token_usage Multiprocess metric
# TYPE sglang:token_usage gauge
sglang:token_usage{engine_type="unified",model_name="m",moe_ep_rank="0",pp_rank="0",tp_rank="0"} 0.0
)";

TEST(Sglang, BeforeItsFirstRequestHasNone) {
  for (const absl::string_view page : {kSglangFreshlyStarted, kSglangIdle}) {
    const ModelReading reading = ReadOwnPage(Sglang(), page, "m");
    EXPECT_THAT(reading.waiting, testing::Optional(0)) << page;
    EXPECT_THAT(reading.running, testing::Optional(0)) << page;
    EXPECT_THAT(reading.kv_cache_usage_ratio, testing::Optional(0)) << page;
    EXPECT_THAT(reading.requests_done, testing::Optional(0)) << page;
    EXPECT_EQ(CountOf(reading.first_token_seconds), 0) << page;
    EXPECT_EQ(CountOf(reading.output_token_seconds), 0) << page;
  }
}

TEST(Sglang, MissingMetricIsUnknownAfterTheFirstRequest) {
  const ModelReading reading =
      ReadOwnPage(Sglang(), R"(sglang:num_requests_total{is_streaming="true",model_name="m"} 3.0
)");
  EXPECT_EQ(reading.running, std::nullopt);
  EXPECT_EQ(CountOf(reading.first_token_seconds), -1);
}

}  // namespace
}  // namespace gpuscaler
