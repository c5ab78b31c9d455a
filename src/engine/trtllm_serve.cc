// trtllm-serve [tensorrt_llm/serve/openai_server.py], with return_perf_metrics. Its /metrics is
// JSON, and the Prometheus exposition is on another path.
//
// Each metric is exported after its first value: counters and latencies with the first finished
// request. Requests, cache and limit need enable_iter_perf_stats, so they are not 0 if missing.
#include "engine/engines.h"

namespace gpuscaler {
namespace {

constexpr absl::string_view kTrtllmDone = "trtllm_request_success";

constexpr NumberMapping kTrtllmNumbers[] = {
    {.name = "trtllm_num_requests_waiting", .into = &ModelReading::waiting},
    {.name = "trtllm_num_requests_running", .into = &ModelReading::running},
    {.name = "trtllm_max_num_active_requests", .into = &ModelReading::limit},
    {.name = "trtllm_kv_cache_utilization", .into = &ModelReading::kv_cache_usage_ratio},
    {.name = "trtllm_request_success",
     .into = &ModelReading::requests_done,
     .zero_before = kTrtllmDone},
    {.name = "trtllm_request_queue_time_seconds_sum",
     .into = &ModelReading::queue_seconds,
     .zero_before = kTrtllmDone},
    {.name = "trtllm_request_queue_time_seconds_count",
     .into = &ModelReading::queued_requests,
     .zero_before = kTrtllmDone},
    {.name = "trtllm_prompt_tokens",
     .into = &ModelReading::prompt_tokens,
     .zero_before = kTrtllmDone},
    {.name = "trtllm_generation_tokens",
     .into = &ModelReading::generation_tokens,
     .zero_before = kTrtllmDone},
    // Both count when a request is finished.
    {.name = "trtllm_request_success", .into = &ModelReading::answers, .zero_before = kTrtllmDone},
    {.name = "trtllm_generation_tokens",
     .into = &ModelReading::answer_tokens,
     .zero_before = kTrtllmDone},
};

constexpr HistogramMapping kTrtllmHistograms[] = {
    {.name = "trtllm_time_to_first_token_seconds",
     .into = &ModelReading::first_token_seconds,
     .zero_before = kTrtllmDone},
    {.name = "trtllm_time_per_output_token_seconds",
     .into = &ModelReading::output_token_seconds,
     .zero_before = kTrtllmDone},
};

constexpr absl::string_view kTrtllmMarks[] = {"trtllm_"};

constexpr EngineExposition kTrtllmExposition = {.marks = kTrtllmMarks,
                                                .model_label = "model_name",
                                                .numbers = kTrtllmNumbers,
                                                .histograms = kTrtllmHistograms};

}  // namespace

const Engine& TrtllmServe() {
  static constexpr Engine kEngine = {.name = "trtllm_serve",
                                     .port = 8000,
                                     .path = "/prometheus/metrics",
                                     .exposition = &kTrtllmExposition,
                                     .read = ReadAllSeries<kTrtllmExposition>};
  return kEngine;
}

}  // namespace gpuscaler
