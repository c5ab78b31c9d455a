#include "engine/test_engine_exposition.h"

namespace gpuscaler {
namespace {

TEST(TrtllmServe, ReportsQueueCacheAndLimit) {
  const ModelReading reading = ReadOwnPage(
      TrtllmServe(), R"(trtllm_num_requests_waiting{engine_type="trtllm",model_name="m"} 3.0
trtllm_num_requests_running{engine_type="trtllm",model_name="m"} 5.0
trtllm_max_num_active_requests{engine_type="trtllm",model_name="m"} 64.0
trtllm_kv_cache_utilization{engine_type="trtllm",model_name="m"} 0.5
trtllm_request_success_total{engine_type="trtllm",model_name="m"} 9.0
)");
  EXPECT_THAT(reading.waiting, testing::Optional(3));
  EXPECT_THAT(reading.running, testing::Optional(5));
  EXPECT_THAT(reading.limit, testing::Optional(64));
  EXPECT_THAT(reading.kv_cache_usage_ratio, testing::Optional(0.5));
  EXPECT_THAT(reading.requests_done, testing::Optional(9));
}

TEST(TrtllmServe, QueueIsUnknownBeforeTheFirstRequest) {
  const ModelReading reading = ReadOwnPage(
      TrtllmServe(),
      "trtllm_model_config_info{engine_type=\"trtllm\",model_name=\"m\",dtype=\"auto\"} 1.0\n",
      "m");
  EXPECT_THAT(reading.requests_done, testing::Optional(0));
  EXPECT_EQ(CountOf(reading.first_token_seconds), 0);
  EXPECT_EQ(reading.waiting, std::nullopt) << "without enable_iter_perf_stats it never is";
}

}  // namespace
}  // namespace gpuscaler
