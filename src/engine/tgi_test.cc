#include "engine/test_engine_exposition.h"

namespace gpuscaler {
namespace {

TEST(Tgi, CountersHaveNoTotalSuffix) {
  const ModelReading reading = ReadOwnPage(Tgi(), R"(# TYPE tgi_request_success counter
tgi_request_success 94

# TYPE tgi_request_count counter
tgi_request_count 101

# TYPE tgi_batch_current_size gauge
tgi_batch_current_size 5

# TYPE tgi_queue_size gauge
tgi_queue_size 7

# TYPE tgi_request_queue_duration histogram
tgi_request_queue_duration_bucket{le="0.0001"} 40
tgi_request_queue_duration_bucket{le="+Inf"} 94
tgi_request_queue_duration_sum 18.8
tgi_request_queue_duration_count 94

# TYPE tgi_request_generated_tokens histogram
tgi_request_generated_tokens_bucket{le="+Inf"} 94
tgi_request_generated_tokens_sum 9400
tgi_request_generated_tokens_count 94

# TYPE tgi_request_mean_time_per_token_duration histogram
tgi_request_mean_time_per_token_duration_bucket{le="0.02"} 90
tgi_request_mean_time_per_token_duration_bucket{le="+Inf"} 94

)");
  EXPECT_THAT(reading.waiting, testing::Optional(7));
  EXPECT_THAT(reading.running, testing::Optional(5));
  EXPECT_THAT(reading.requests_done, testing::Optional(94));
  EXPECT_THAT(reading.queue_seconds, testing::Optional(18.8));
  EXPECT_THAT(reading.generation_tokens, testing::Optional(9400));
  EXPECT_THAT(reading.answers, testing::Optional(94));
  EXPECT_THAT(reading.answer_tokens, testing::Optional(9400));
  EXPECT_EQ(CountOf(reading.output_token_seconds), 94);
  EXPECT_EQ(reading.kv_cache_usage_ratio, std::nullopt) << "TGI does not export it";
}

TEST(Tgi, UnansweredRequestsAreDone) {
  const ModelReading reading = ReadOwnPage(Tgi(), R"(# TYPE tgi_request_success counter
tgi_request_success 94

# TYPE tgi_request_failure counter
tgi_request_failure{err="dropped"} 3
tgi_request_failure{err="generation"} 2
tgi_request_failure{err="overloaded"} 500
tgi_request_failure{err="validation"} 70

# TYPE tgi_request_generated_tokens histogram
tgi_request_generated_tokens_sum 9400
tgi_request_generated_tokens_count 94

)");
  EXPECT_THAT(reading.requests_done, testing::Optional(99))
      << "those that were refused never came into the queue";
  EXPECT_THAT(reading.answers, testing::Optional(94));
}

TEST(Tgi, TheFirstRequestMayBeDroppedByItsClient) {
  const ModelReading reading = ReadOwnPage(Tgi(), R"(# TYPE tgi_request_count counter
tgi_request_count 1

# TYPE tgi_request_failure counter
tgi_request_failure{err="dropped"} 1

)");
  EXPECT_THAT(reading.requests_done, testing::Optional(1));
}

// The exposition of 3.3 after it loaded its model.
constexpr absl::string_view kTgiFreshlyStarted = R"(# TYPE tgi_batch_max_total_tokens gauge
tgi_batch_max_total_tokens 105024

)";

TEST(Tgi, BeforeItsFirstRequestHasNone) {
  const ModelReading reading = ReadOwnPage(Tgi(), kTgiFreshlyStarted);
  EXPECT_THAT(reading.waiting, testing::Optional(0));
  EXPECT_THAT(reading.running, testing::Optional(0));
  EXPECT_THAT(reading.requests_done, testing::Optional(0));
  EXPECT_THAT(reading.queue_seconds, testing::Optional(0));
  EXPECT_EQ(CountOf(reading.output_token_seconds), 0);
  EXPECT_EQ(reading.kv_cache_usage_ratio, std::nullopt) << "that it never reports";
}

TEST(Tgi, OlderVersionsExportNothingBeforeTheFirstRequest) {
  const auto page = Tgi().read("", {});
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_THAT(ReadingOf(*page, "")->waiting, testing::Optional(0));
}

TEST(Tgi, FirstBatchRunsBeforeItIsReported) {
  const ModelReading reading = ReadOwnPage(Tgi(), R"(# TYPE tgi_request_count counter
tgi_request_count 1

# TYPE tgi_batch_max_total_tokens gauge
tgi_batch_max_total_tokens 105024

# TYPE tgi_queue_size gauge
tgi_queue_size 1

# TYPE tgi_request_input_length histogram
tgi_request_input_length_bucket{le="+Inf"} 1
tgi_request_input_length_sum 17
tgi_request_input_length_count 1

)");
  EXPECT_THAT(reading.waiting, testing::Optional(1));
  EXPECT_THAT(reading.running, testing::Optional(0));
  EXPECT_THAT(reading.requests_done, testing::Optional(0));
  EXPECT_THAT(reading.prompt_tokens, testing::Optional(17));
}

// The backends for TensorRT-LLM and llama.cpp export the router's metrics only.
TEST(Tgi, BackendWithoutAQueueIsNotIdle) {
  const ModelReading reading = ReadOwnPage(Tgi(), R"(# TYPE tgi_request_count counter
tgi_request_count 5

# TYPE tgi_request_success counter
tgi_request_success 3

)");
  EXPECT_EQ(reading.waiting, std::nullopt);
  EXPECT_EQ(reading.running, std::nullopt);
  EXPECT_THAT(reading.requests_done, testing::Optional(3));
}

}  // namespace
}  // namespace gpuscaler
