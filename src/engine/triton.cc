// Triton [core/src/metrics.cc], and the metrics of its backends for language models.
//
// TensorRT-LLM [TensorRT-LLM/triton_backend/inflight_batcher_llm/src/model_instance_state.cc] and
// vLLM [vllm_backend/src/utils/metrics.py] take requests out of Triton's queue at once, so about 0
// are pending there. TensorRT-LLM's own numbers therefore take precedence. vLLM exports tokens and
// latencies only, and only with REPORT_CUSTOM_METRICS: its waiting requests are unknown.
// TensorRT-LLM's `active` = `scheduled` + `waiting` and is at most `max`. Requests that queue for a
// place among them are not exported. Queue time is Triton's, before any backend.
//
// An ensemble counts itself and its parts: `model` selects one. Versions of a model are added.
#include <limits>

#include "base/status_macros.h"
#include "engine/engines.h"

namespace gpuscaler {
namespace {

constexpr absl::string_view kTensorRtLlm = "TensorRT-LLM";

constexpr NumberMapping kTritonNumbers[] = {
    {.name = "nv_trt_llm_request_metrics",
     .into = &ModelReading::waiting,
     .label = "request_type",
     .value = "waiting",
     .backend = kTensorRtLlm},
    {.name = "nv_inference_pending_request_count", .into = &ModelReading::waiting, .choice = 1},
    {.name = "nv_trt_llm_request_metrics",
     .into = &ModelReading::running,
     .label = "request_type",
     .value = "scheduled",
     .backend = kTensorRtLlm},
    {.name = "nv_trt_llm_request_metrics",
     .into = &ModelReading::limit,
     .label = "request_type",
     .value = "max",
     .backend = kTensorRtLlm},
    {.name = "nv_trt_llm_kv_cache_block_metrics",
     .into = &ModelReading::kv_cache_usage_ratio,
     .label = "kv_cache_block_type",
     .value = "fraction",
     .backend = kTensorRtLlm},
    {.name = "nv_inference_request_success", .into = &ModelReading::requests_done},
    {.name = "nv_inference_request_success", .into = &ModelReading::queued_requests},
    {.name = "nv_inference_queue_duration_us", .into = &ModelReading::queue_seconds, .unit = 1e-6},
    {.name = "vllm:prompt_tokens", .into = &ModelReading::prompt_tokens},
    {.name = "vllm:generation_tokens", .into = &ModelReading::generation_tokens},
};

constexpr HistogramMapping kTritonHistograms[] = {
    {.name = "vllm:time_to_first_token_seconds", .into = &ModelReading::first_token_seconds},
    {.name = "nv_inference_first_response_histogram_ms",
     .into = &ModelReading::first_token_seconds,
     .choice = 1,
     .unit = 1e-3},
    {.name = "vllm:time_per_output_token_seconds", .into = &ModelReading::output_token_seconds},
};

constexpr absl::string_view kTritonMarks[] = {"nv_inference_", "nv_trt_llm_"};

constexpr double kNotReported = std::numeric_limits<double>::quiet_NaN();

bool UsesVllm(const ModelReading& model) {
  return model.prompt_tokens.has_value() || model.generation_tokens.has_value();
}

constexpr EngineExposition kTritonExposition = {.marks = kTritonMarks,
                                                .model_label = "model",
                                                .numbers = kTritonNumbers,
                                                .histograms = kTritonHistograms};

absl::StatusOr<EngineReading> ReadTriton(absl::string_view page, const ScrapeInterest& interest) {
  ASSIGN_OR_RETURN(EngineReading reading, ReadEngineExposition(kTritonExposition, page, interest));
  for (ModelReading& model : reading.models) {
    if (UsesVllm(model)) model.waiting = kNotReported;
  }
  return reading;
}

}  // namespace

const Engine& Triton() {
  static constexpr Engine kEngine = {.name = "triton",
                                     .port = 8002,
                                     .path = "/metrics",
                                     .exposition = &kTritonExposition,
                                     .read = ReadTriton};
  return kEngine;
}

}  // namespace gpuscaler
