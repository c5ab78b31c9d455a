// Triton [core/src/metrics.cc], and its TensorRT-LLM backend [tensorrtllm_backend/README.md].
//
// The backend takes requests out of Triton's queue at once, where about 0 are then pending: its own
// numbers come first for a model that has them. An ensemble counts itself and its parts: `model`
// picks one. Versions of a model add up.
#include "signal/engines.h"

namespace gpuscaler {
namespace {

constexpr NumberRow kNumbersOfTriton[] = {
    {.name = "nv_trt_llm_request_metrics",
     .into = &ModelReading::waiting,
     .label = "request_type",
     .value = "waiting"},
    {.name = "nv_inference_pending_request_count", .into = &ModelReading::waiting, .choice = 1},
    {.name = "nv_trt_llm_request_metrics",  // in the batch manager, also when not in this step
     .into = &ModelReading::running,
     .label = "request_type",
     .value = "active"},
    {.name = "nv_trt_llm_request_metrics",
     .into = &ModelReading::limit,
     .label = "request_type",
     .value = "max"},
    {.name = "nv_trt_llm_kv_cache_block_metrics",
     .into = &ModelReading::kv_cache_usage_ratio,
     .adding = Adding::kFullest,
     .label = "kv_cache_block_type",
     .value = "fraction"},
    {.name = "nv_inference_request_success", .into = &ModelReading::requests_done},
    {.name = "nv_inference_request_success", .into = &ModelReading::queued_requests},
    {.name = "nv_inference_queue_duration_us", .into = &ModelReading::queue_seconds, .unit = 1e-6},
};

constexpr HistogramRow kHistogramsOfTriton[] = {
    {.name = "nv_inference_first_response_histogram_ms",
     .into = &ModelReading::first_token_seconds,
     .unit = 1e-3},
};

constexpr absl::string_view kMarksOfTriton[] = {"nv_inference_", "nv_trt_llm_"};

absl::StatusOr<EngineReading> ReadTriton(absl::string_view page, const PageWish& wish) {
  static constexpr EnginePage kPage = {
      .model_label = "model", .numbers = kNumbersOfTriton, .histograms = kHistogramsOfTriton};
  return ReadEnginePage(kPage, page, wish);
}

}  // namespace

const Engine& Triton() {
  static constexpr Engine kEngine = {.name = "triton",
                                     .port = 8002,
                                     .path = "/metrics",
                                     .marks = kMarksOfTriton,
                                     .read = ReadTriton};
  return kEngine;
}

}  // namespace gpuscaler
