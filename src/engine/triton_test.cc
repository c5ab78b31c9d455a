#include "engine/test_engine_exposition.h"

namespace gpuscaler {
namespace {

constexpr absl::string_view kTritonWithTensorRt = R"(# TYPE nv_inference_request_success counter
nv_inference_request_success{model="ensemble",version="1"} 50
nv_inference_request_success{model="preprocessing",version="1"} 50
nv_inference_request_success{model="tensorrt_llm",version="1"} 40
nv_inference_request_success{model="tensorrt_llm",version="2"} 9
# TYPE nv_inference_request_failure counter
nv_inference_request_failure{model="tensorrt_llm",reason="OTHER",version="1"} 1
# TYPE nv_inference_queue_duration_us counter
nv_inference_queue_duration_us{model="preprocessing",version="1"} 2000
nv_inference_queue_duration_us{model="tensorrt_llm",version="1"} 3500000
# TYPE nv_inference_pending_request_count gauge
nv_inference_pending_request_count{model="preprocessing",version="1"} 1
nv_inference_pending_request_count{model="tensorrt_llm",version="1"} 0
# TYPE nv_trt_llm_request_metrics gauge
nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="waiting",version="1"} 34
nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="context",version="1"} 1
nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="scheduled",version="1"} 30
nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="max",version="1"} 64
nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="active",version="1"} 64
# TYPE nv_trt_llm_kv_cache_block_metrics gauge
nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="tokens_per",model="tensorrt_llm",version="1"} 64
nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="fraction",model="tensorrt_llm",version="1"} 0.5
nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="max",model="tensorrt_llm",version="1"} 6239
# TYPE nv_gpu_utilization gauge
nv_gpu_utilization{gpu_uuid="GPU-0"} 0.9
)";

TEST(Triton, TensorRtLlmReportsItsOwnQueue) {
  const ModelReading reading = ReadOwnPage(Triton(), kTritonWithTensorRt, "tensorrt_llm");
  EXPECT_THAT(reading.waiting, testing::Optional(34)) << "not the 0 that pend before the backend";
  EXPECT_THAT(reading.running, testing::Optional(30))
      << "not the 64 active, which include waiting ones";
  EXPECT_THAT(reading.limit, testing::Optional(64));
  EXPECT_THAT(reading.kv_cache_usage_ratio, testing::Optional(0.5));
  EXPECT_THAT(reading.requests_done, testing::Optional(49)) << "of both versions";
  EXPECT_THAT(reading.queue_seconds, testing::Optional(testing::DoubleNear(3.5, 1e-9)));
  EXPECT_THAT(reading.queued_requests, testing::Optional(49));
}

TEST(Triton, NamedModelIsNotCountedAgainInItsEnsemble) {
  EXPECT_THAT(ReadOwnPage(Triton(), kTritonWithTensorRt, "ensemble").requests_done,
              testing::Optional(50));
  EXPECT_THAT(ReadOwnPage(Triton(), kTritonWithTensorRt).requests_done, testing::Optional(149))
      << "all of them";
  EXPECT_THAT(ReadOwnPage(Triton(), kTritonWithTensorRt).waiting, testing::Optional(35));
}

TEST(Triton, WithoutTensorRtLlmPendingRequestsWait) {
  const ModelReading reading =
      ReadOwnPage(Triton(), R"(nv_inference_pending_request_count{model="resnet",version="1"} 4
nv_inference_first_response_histogram_ms_bucket{model="resnet",version="1",le="100"} 8
nv_inference_first_response_histogram_ms_bucket{model="resnet",version="1",le="+Inf"} 9
)");
  EXPECT_THAT(reading.waiting, testing::Optional(4));
  EXPECT_EQ(reading.running, std::nullopt);
  EXPECT_EQ(CountOf(reading.first_token_seconds), 9);
}

// From vllm_backend's README.md, with Triton's own metrics, another model and a saturated vLLM.
constexpr absl::string_view kTritonWithVllm = R"(# TYPE nv_inference_request_success counter
nv_inference_request_success{model="vllm_model",version="1"} 40
nv_inference_request_success{model="resnet",version="1"} 7
# TYPE nv_inference_pending_request_count gauge
nv_inference_pending_request_count{model="vllm_model",version="1"} 0
nv_inference_pending_request_count{model="resnet",version="1"} 2
# TYPE nv_inference_first_response_histogram_ms histogram
nv_inference_first_response_histogram_ms_bucket{model="vllm_model",version="1",le="100"} 8
nv_inference_first_response_histogram_ms_bucket{model="vllm_model",version="1",le="+Inf"} 9
# TYPE vllm:prompt_tokens_total counter
vllm:prompt_tokens_total{model="vllm_model",version="1"} 10
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{model="vllm_model",version="1"} 16
# TYPE vllm:time_to_first_token_seconds histogram
vllm:time_to_first_token_seconds_count{model="vllm_model",version="1"} 5
vllm:time_to_first_token_seconds_sum{model="vllm_model",version="1"} 0.03
vllm:time_to_first_token_seconds_bucket{model="vllm_model",version="1",le="0.001"} 0
vllm:time_to_first_token_seconds_bucket{model="vllm_model",version="1",le="+Inf"} 5
# TYPE vllm:time_per_output_token_seconds histogram
vllm:time_per_output_token_seconds_bucket{model="vllm_model",version="1",le="0.01"} 14
vllm:time_per_output_token_seconds_bucket{model="vllm_model",version="1",le="+Inf"} 15
)";

TEST(Triton, PendingRequestsDoNotShowVllmsQueue) {
  const ModelReading reading = ReadOwnPage(Triton(), kTritonWithVllm, "vllm_model");
  EXPECT_EQ(reading.waiting, std::nullopt) << "not the 0 that pend before the backend";
  EXPECT_EQ(reading.running, std::nullopt);
  EXPECT_THAT(ReadOwnPage(Triton(), kTritonWithVllm, "resnet").waiting, testing::Optional(2));
  EXPECT_EQ(ReadOwnPage(Triton(), kTritonWithVllm).waiting, std::nullopt)
      << "one summand is unknown";
}

TEST(Triton, TokensAndLatenciesOfVllmAreRead) {
  const ModelReading reading = ReadOwnPage(Triton(), kTritonWithVllm, "vllm_model");
  EXPECT_THAT(reading.requests_done, testing::Optional(40));
  EXPECT_THAT(reading.prompt_tokens, testing::Optional(10));
  EXPECT_THAT(reading.generation_tokens, testing::Optional(16));
  EXPECT_EQ(CountOf(reading.first_token_seconds), 5) << "vLLM's, finer than Triton's";
  EXPECT_EQ(CountOf(reading.output_token_seconds), 15);
}

}  // namespace
}  // namespace gpuscaler
