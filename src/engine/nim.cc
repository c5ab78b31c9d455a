// NVIDIA NIM for LLMs [its page "Observability"]. Older images export vLLM's metrics without the
// prefix. Newer ones export them with it, and also num_request_max, which vLLM itself lacks.
#include "engine/engines.h"

namespace gpuscaler {
namespace {

constexpr NumberMapping kNimNumbers[] = {
    {.name = "num_requests_waiting", .into = &ModelReading::waiting},
    {.name = "vllm:num_requests_waiting", .into = &ModelReading::waiting, .choice = 1},
    {.name = "num_requests_running", .into = &ModelReading::running},
    {.name = "vllm:num_requests_running", .into = &ModelReading::running, .choice = 1},
    {.name = "num_request_max", .into = &ModelReading::limit},
    {.name = "gpu_cache_usage_perc", .into = &ModelReading::kv_cache_usage_ratio},
    {.name = "vllm:kv_cache_usage_perc", .into = &ModelReading::kv_cache_usage_ratio, .choice = 1},
    {.name = "vllm:gpu_cache_usage_perc", .into = &ModelReading::kv_cache_usage_ratio, .choice = 2},
    {.name = "request_success", .into = &ModelReading::requests_done},
    {.name = "vllm:request_success", .into = &ModelReading::requests_done, .choice = 1},
    {.name = "vllm:request_queue_time_seconds_sum", .into = &ModelReading::queue_seconds},
    {.name = "vllm:request_queue_time_seconds_count", .into = &ModelReading::queued_requests},
    {.name = "prompt_tokens", .into = &ModelReading::prompt_tokens},
    {.name = "vllm:prompt_tokens", .into = &ModelReading::prompt_tokens, .choice = 1},
    {.name = "generation_tokens", .into = &ModelReading::generation_tokens},
    {.name = "vllm:generation_tokens", .into = &ModelReading::generation_tokens, .choice = 1},
    {.name = "vllm:num_preemptions", .into = &ModelReading::preemptions},
    {.name = "request_generation_tokens_count", .into = &ModelReading::answers},
    {.name = "vllm:request_generation_tokens_count", .into = &ModelReading::answers, .choice = 1},
    {.name = "request_generation_tokens_sum", .into = &ModelReading::answer_tokens},
    {.name = "vllm:request_generation_tokens_sum",
     .into = &ModelReading::answer_tokens,
     .choice = 1},
};

constexpr HistogramMapping kNimHistograms[] = {
    {.name = "time_to_first_token_seconds", .into = &ModelReading::first_token_seconds},
    {.name = "vllm:time_to_first_token_seconds",
     .into = &ModelReading::first_token_seconds,
     .choice = 1},
    {.name = "time_per_output_token_seconds", .into = &ModelReading::output_token_seconds},
    {.name = "vllm:inter_token_latency_seconds",
     .into = &ModelReading::output_token_seconds,
     .choice = 1},
    {.name = "vllm:time_per_output_token_seconds",
     .into = &ModelReading::output_token_seconds,
     .choice = 2},
};

constexpr absl::string_view kNimMarks[] = {"num_request_max", "num_requests_running",
                                           "num_requests_waiting"};

constexpr EngineExposition kNimExposition = {.marks = kNimMarks,
                                             .model_label = "model_name",
                                             .numbers = kNimNumbers,
                                             .histograms = kNimHistograms};

}  // namespace

const Engine& Nim() {
  static constexpr Engine kEngine = {.name = "nim",
                                     .port = 8000,
                                     .path = "/v1/metrics",
                                     .exposition = &kNimExposition,
                                     .read = ReadAllSeries<kNimExposition>};
  return kEngine;
}

}  // namespace gpuscaler
