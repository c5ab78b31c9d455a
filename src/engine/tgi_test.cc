#include "engine/test_engine_page.h"

namespace gpuscaler {
namespace {

TEST(Tgi, CountersHaveNoTotalBehindThem) {
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
  EXPECT_EQ(CountOf(reading.output_token_seconds), 94);
  EXPECT_EQ(reading.kv_cache_usage_ratio, std::nullopt) << "it has none to tell";
}

}  // namespace
}  // namespace gpuscaler
