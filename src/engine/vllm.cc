// vLLM, V0 and V1 [vllm/v1/metrics/loggers.py, vllm/engine/metrics.py].
//
// V1 has a series for each data-parallel rank (label engine), V0 one. In 0.9.1 to 0.10.1 waiting,
// running and KV-cache usage keep their last value after a mass abort until the next step (vLLM
// #22545): see stalled_engine_detector.h. num_requests_waiting includes deferred requests, which
// num_requests_waiting_by_reason separates. They are no congestion, but the replica has them.
//
// Before the first request V1 exports every series at 0. With several API servers it exports no
// gauges then, because prometheus_client omits gauges of several processes that were never set
// (observed in 0.32). --api-server-count sets their number, and --data-parallel-size above 1
// implies several. V0 and simulators export the gauges, and counters and histograms with the first
// request.
//
// Neither version exports the maximum number of running requests (max_num_seqs).
// vllm:cache_config_info describes the cache only, and its kv_cache_max_concurrency counts requests
// as long as the model's context.
#include <algorithm>
#include <array>

#include "base/status_macros.h"
#include "engine/engines.h"

namespace gpuscaler {
namespace {

constexpr absl::string_view kVllmDone = "vllm:request_success";

constexpr NumberMapping kVllmNumbers[] = {
    {.name = "vllm:num_requests_waiting", .into = &ModelReading::waiting},
    {.name = "vllm:num_requests_swapped", .into = &ModelReading::waiting},  // V0: swapped out
    {.name = "vllm:num_requests_running", .into = &ModelReading::running},
    // 0-1 despite its name; since 0.9
    {.name = "vllm:kv_cache_usage_perc", .into = &ModelReading::kv_cache_usage_ratio},
    {.name = "vllm:gpu_cache_usage_perc", .into = &ModelReading::kv_cache_usage_ratio, .choice = 1},
    // One series per finished_reason. Aborted requests may be missing (#31503).
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
    {.name = "vllm:request_generation_tokens_count",
     .into = &ModelReading::answers,
     .zero_before = kVllmDone},
    {.name = "vllm:request_generation_tokens_sum",
     .into = &ModelReading::answer_tokens,
     .zero_before = kVllmDone},
};

constexpr HistogramMapping kVllmHistograms[] = {
    {.name = "vllm:time_to_first_token_seconds",
     .into = &ModelReading::first_token_seconds,
     .zero_before = kVllmDone},
    {.name = "vllm:inter_token_latency_seconds",
     .into = &ModelReading::output_token_seconds,
     .zero_before = kVllmDone},
    {.name = "vllm:time_per_output_token_seconds",  // older name
     .into = &ModelReading::output_token_seconds,
     .choice = 1},
};

constexpr absl::string_view kVllmMarks[] = {"vllm:"};

constexpr EngineExposition kVllmExposition = {.marks = kVllmMarks,
                                              .model_label = "model_name",
                                              .numbers = kVllmNumbers,
                                              .histograms = kVllmHistograms};

constexpr std::array<ModelNumber, 3> kGauges = {&ModelReading::waiting, &ModelReading::running,
                                                &ModelReading::kv_cache_usage_ratio};
constexpr std::array<ModelNumber, 3> kCountersOfAnyRequest = {
    &ModelReading::requests_done, &ModelReading::prompt_tokens, &ModelReading::generation_tokens};

// Missing gauges are 0 if every counter is exported and 0: the engine has had no request. Missing
// counters are 0 if there is no request and no other counter is above 0.
void AddZerosBeforeFirstRequest(ModelReading& model) {
  const auto is_zero = [&model](ModelNumber number) { return model.*number == 0.0; };
  const auto is_not_above_zero = [&](ModelNumber number) {
    return !(model.*number).has_value() || is_zero(number);
  };
  const auto add_zero = [&model](ModelNumber number) {
    if (!(model.*number).has_value()) model.*number = 0;
  };
  if (std::ranges::all_of(kCountersOfAnyRequest, is_zero)) {
    std::ranges::for_each(kGauges, add_zero);
  } else if (is_zero(&ModelReading::waiting) && is_zero(&ModelReading::running) &&
             std::ranges::all_of(kModelCounters, is_not_above_zero)) {
    std::ranges::for_each(kModelCounters, add_zero);
  }
}

absl::StatusOr<EngineReading> ReadVllm(absl::string_view page, const ScrapeInterest& interest) {
  ASSIGN_OR_RETURN(EngineReading reading, ReadEngineExposition(kVllmExposition, page, interest));
  std::ranges::for_each(reading.models, AddZerosBeforeFirstRequest);
  return reading;
}

}  // namespace

const Engine& Vllm() {
  static constexpr Engine kEngine = {.name = "vllm",
                                     .port = 8000,
                                     .path = "/metrics",
                                     .exposition = &kVllmExposition,
                                     .read = ReadVllm};
  return kEngine;
}

}  // namespace gpuscaler
