#include "signal/test_engine_page.h"

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
nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="waiting",version="1"} 6
nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="context",version="1"} 1
nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="scheduled",version="1"} 30
nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="max",version="1"} 512
nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="active",version="1"} 32
# TYPE nv_trt_llm_kv_cache_block_metrics gauge
nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="tokens_per",model="tensorrt_llm",version="1"} 64
nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="fraction",model="tensorrt_llm",version="1"} 0.5
nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="max",model="tensorrt_llm",version="1"} 6239
# TYPE nv_gpu_utilization gauge
nv_gpu_utilization{gpu_uuid="GPU-0"} 0.9
)";

TEST(Triton, TensorRtLlmTellsItsOwnQueue) {
  const ModelReading reading = ReadOwnPage(Triton(), kTritonWithTensorRt, "tensorrt_llm");
  EXPECT_THAT(reading.waiting, testing::Optional(6)) << "not the 0 that pend before the backend";
  EXPECT_THAT(reading.running, testing::Optional(32));
  EXPECT_THAT(reading.limit, testing::Optional(512));
  EXPECT_THAT(reading.kv_cache_usage_ratio, testing::Optional(0.5));
  EXPECT_THAT(reading.requests_done, testing::Optional(49)) << "of both versions";
  EXPECT_THAT(reading.queue_seconds, testing::Optional(testing::DoubleNear(3.5, 1e-9)));
  EXPECT_THAT(reading.queued_requests, testing::Optional(49));
}

TEST(Triton, AModelByItsNameIsNotCountedAgainByItsEnsemble) {
  EXPECT_THAT(ReadOwnPage(Triton(), kTritonWithTensorRt, "ensemble").requests_done,
              testing::Optional(50));
  EXPECT_THAT(ReadOwnPage(Triton(), kTritonWithTensorRt).requests_done, testing::Optional(149))
      << "all of them";
  EXPECT_THAT(ReadOwnPage(Triton(), kTritonWithTensorRt).waiting, testing::Optional(7));
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

}  // namespace
}  // namespace gpuscaler
