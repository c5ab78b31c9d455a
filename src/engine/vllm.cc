// vLLM, V0 and V1 [vllm/v1/metrics/loggers.py, vllm/engine/metrics.py].
//
// V1 has a series for each data-parallel rank (label engine), V0 one. After a mass abort waiting,
// running and KV-cache use keep their last value until the next step (vLLM #22545): see
// still_requests.h. num_requests_waiting counts deferred requests too
// (num_requests_waiting_by_reason tells them apart): they are no congestion, but the replica has
// them.
//
// V1 has every series from its start, at 0; V0's histograms come with the first request. How many
// requests run at most (max_num_seqs) neither tells: vllm:cache_config_info is of the cache alone,
// and its kv_cache_max_concurrency is of requests as long as the model's context.
#include "engine/engines.h"

namespace gpuscaler {
namespace {

constexpr absl::string_view kVllmDone = "vllm:request_success";

constexpr NumberRow kNumbersOfVllm[] = {
    {.name = "vllm:num_requests_waiting", .into = &ModelReading::waiting},
    {.name = "vllm:num_requests_swapped", .into = &ModelReading::waiting},  // V0: out of the cache
    {.name = "vllm:num_requests_running", .into = &ModelReading::running},
    {.name = "vllm:kv_cache_usage_perc",  // 0-1 for all its name; since 0.9
     .into = &ModelReading::kv_cache_usage_ratio,
     .adding = Adding::kFullest},
    {.name = "vllm:gpu_cache_usage_perc",
     .into = &ModelReading::kv_cache_usage_ratio,
     .adding = Adding::kFullest,
     .choice = 1},
    // One series for each finished_reason; of requests that were aborted none may come (#31503).
    {.name = "vllm:request_success", .into = &ModelReading::requests_done},
    {.name = "vllm:request_queue_time_seconds_sum",
     .into = &ModelReading::queue_seconds,
     .zero_before = kVllmDone},
    {.name = "vllm:request_queue_time_seconds_count",
     .into = &ModelReading::queued_requests,
     .zero_before = kVllmDone},
    {.name = "vllm:prompt_tokens", .into = &ModelReading::prompt_tokens},
    {.name = "vllm:generation_tokens", .into = &ModelReading::generation_tokens},
    {.name = "vllm:num_preemptions", .into = &ModelReading::preemptions},
};

constexpr HistogramRow kHistogramsOfVllm[] = {
    {.name = "vllm:time_to_first_token_seconds",
     .into = &ModelReading::first_token_seconds,
     .zero_before = kVllmDone},
    {.name = "vllm:inter_token_latency_seconds",
     .into = &ModelReading::output_token_seconds,
     .zero_before = kVllmDone},
    {.name = "vllm:time_per_output_token_seconds",  // its name before
     .into = &ModelReading::output_token_seconds,
     .choice = 1},
};

constexpr absl::string_view kMarksOfVllm[] = {"vllm:"};

constexpr EnginePage kPageOfVllm = {.marks = kMarksOfVllm,
                                    .model_label = "model_name",
                                    .numbers = kNumbersOfVllm,
                                    .histograms = kHistogramsOfVllm};

absl::StatusOr<EngineReading> ReadVllm(absl::string_view page, const PageWish& wish) {
  return ReadEnginePage(kPageOfVllm, page, wish);
}

}  // namespace

const Engine& Vllm() {
  static constexpr Engine kEngine = {
      .name = "vllm", .port = 8000, .path = "/metrics", .page = &kPageOfVllm, .read = ReadVllm};
  return kEngine;
}

}  // namespace gpuscaler
