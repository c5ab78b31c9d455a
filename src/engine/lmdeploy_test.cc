#include "engine/test_engine_exposition.h"

namespace gpuscaler {
namespace {

TEST(LmDeploy, RequestsWaitInTwoPlaces) {
  const ModelReading reading =
      ReadOwnPage(LmDeploy(), R"(lmdeploy:num_requests_waiting{engine="0",model_name="m"} 3.0
lmdeploy:num_api_requests_waiting{engine="0",model_name="m"} 4.0
lmdeploy:num_requests_running{engine="0",model_name="m"} 5.0
lmdeploy:num_requests_running{engine="1",model_name="m"} 6.0
lmdeploy:gpu_cache_usage_perc{engine="0",model_name="m"} 0.5
lmdeploy:request_generation_tokens_sum{engine="0",model_name="m"} 700.0
lmdeploy:request_generation_tokens_count{engine="0",model_name="m"} 9.0
lmdeploy:request_queue_time_seconds_sum{engine="0",model_name="m"} 2.5
lmdeploy:request_queue_time_seconds_count{engine="0",model_name="m"} 10.0
)");
  EXPECT_THAT(reading.waiting, testing::Optional(7));
  EXPECT_THAT(reading.running, testing::Optional(11));
  EXPECT_THAT(reading.kv_cache_usage_ratio, testing::Optional(0.5));
  EXPECT_THAT(reading.answers, testing::Optional(9));
  EXPECT_THAT(reading.answer_tokens, testing::Optional(700));
  EXPECT_THAT(reading.queue_seconds, testing::Optional(2.5));
  EXPECT_THAT(reading.queued_requests, testing::Optional(10));
}

}  // namespace
}  // namespace gpuscaler
