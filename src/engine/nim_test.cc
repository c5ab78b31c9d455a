#include "engine/test_engine_exposition.h"

namespace gpuscaler {
namespace {

TEST(Nim, OlderImagesHaveNamesWithoutPrefix) {
  const ModelReading reading =
      ReadOwnPage(Nim(), R"(num_requests_running{model_name="meta/llama3-8b"} 3.0
num_requests_waiting{model_name="meta/llama3-8b"} 1.0
num_request_max{model_name="meta/llama3-8b"} 256.0
gpu_cache_usage_perc{model_name="meta/llama3-8b"} 0.125
prompt_tokens_total{model_name="meta/llama3-8b"} 603.0
generation_tokens_total{model_name="meta/llama3-8b"} 997.0
request_generation_tokens_sum{model_name="meta/llama3-8b"} 900.0
request_generation_tokens_count{model_name="meta/llama3-8b"} 9.0
request_success_total{finished_reason="stop",model_name="meta/llama3-8b"} 34.0
time_to_first_token_seconds_bucket{le="0.1",model_name="meta/llama3-8b"} 30.0
time_to_first_token_seconds_bucket{le="+Inf",model_name="meta/llama3-8b"} 34.0
)");
  EXPECT_THAT(reading.running, testing::Optional(3));
  EXPECT_THAT(reading.waiting, testing::Optional(1));
  EXPECT_THAT(reading.limit, testing::Optional(256));
  EXPECT_THAT(reading.kv_cache_usage_ratio, testing::Optional(0.125));
  EXPECT_THAT(reading.generation_tokens, testing::Optional(997));
  EXPECT_THAT(reading.answers, testing::Optional(9));
  EXPECT_THAT(reading.answer_tokens, testing::Optional(900));
  EXPECT_THAT(reading.requests_done, testing::Optional(34));
  EXPECT_EQ(CountOf(reading.first_token_seconds), 34);
}

TEST(Nim, NewerImagesHaveVllmsNamesAndTheLimit) {
  const ModelReading reading =
      ReadOwnPage(Nim(), R"(vllm:num_requests_running{engine="0",model_name="m"} 3.0
vllm:num_requests_waiting{engine="0",model_name="m"} 2.0
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.25
num_request_max{model_name="m"} 1024.0
)");
  EXPECT_THAT(reading.running, testing::Optional(3));
  EXPECT_THAT(reading.waiting, testing::Optional(2));
  EXPECT_THAT(reading.kv_cache_usage_ratio, testing::Optional(0.25));
  EXPECT_THAT(reading.limit, testing::Optional(1024));
}

}  // namespace
}  // namespace gpuscaler
