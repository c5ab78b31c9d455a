// trtllm-serve [tensorrt_llm/serve/openai_server.py], with return_perf_metrics: its /metrics is
// JSON, the list of metrics lies elsewhere.
//
// Each metric comes to the page with its first value: counters and latencies with the first request
// that is done. Requests, cache and limit come with enable_iter_perf_stats alone, so that they are
// not 0 where they are missing.
#include "engine/engines.h"

namespace gpuscaler {
namespace {

constexpr absl::string_view kTrtllmDone = "trtllm_request_success";

constexpr NumberRow kNumbersOfTrtllm[] = {
    {.name = "trtllm_num_requests_waiting", .into = &ModelReading::waiting},
    {.name = "trtllm_num_requests_running", .into = &ModelReading::running},
    {.name = "trtllm_max_num_active_requests", .into = &ModelReading::limit},
    {.name = "trtllm_kv_cache_utilization",
     .into = &ModelReading::kv_cache_usage_ratio,
     .adding = Adding::kFullest},
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
    // Counted when a request is done.
    {.name = "trtllm_request_success", .into = &ModelReading::answers, .zero_before = kTrtllmDone},
    {.name = "trtllm_generation_tokens",
     .into = &ModelReading::answer_tokens,
     .zero_before = kTrtllmDone},
};

constexpr HistogramRow kHistogramsOfTrtllm[] = {
    {.name = "trtllm_time_to_first_token_seconds",
     .into = &ModelReading::first_token_seconds,
     .zero_before = kTrtllmDone},
    {.name = "trtllm_time_per_output_token_seconds",
     .into = &ModelReading::output_token_seconds,
     .zero_before = kTrtllmDone},
};

constexpr absl::string_view kMarksOfTrtllm[] = {"trtllm_"};

constexpr EngineExposition kPageOfTrtllm = {.marks = kMarksOfTrtllm,
                                            .model_label = "model_name",
                                            .numbers = kNumbersOfTrtllm,
                                            .histograms = kHistogramsOfTrtllm};

absl::StatusOr<EngineReading> ReadTrtllm(absl::string_view page, const ScrapeInterest& interest) {
  return ReadEngineExposition(kPageOfTrtllm, page, interest);
}

}  // namespace

const Engine& TrtllmServe() {
  static constexpr Engine kEngine = {.name = "trtllm_serve",
                                     .port = 8000,
                                     .path = "/prometheus/metrics",
                                     .page = &kPageOfTrtllm,
                                     .read = ReadTrtllm};
  return kEngine;
}

}  // namespace gpuscaler
