// LMDeploy [lmdeploy/metrics/loggers.py]. Requests wait in two places: for a handle of the API
// server, and in the engine. Each data-parallel rank (label engine) has its own series.
#include "engine/engines.h"

namespace gpuscaler {
namespace {

constexpr NumberMapping kLmDeployNumbers[] = {
    {.name = "lmdeploy:num_requests_waiting", .into = &ModelReading::waiting},
    {.name = "lmdeploy:num_api_requests_waiting", .into = &ModelReading::waiting},
    {.name = "lmdeploy:num_requests_running", .into = &ModelReading::running},
    {.name = "lmdeploy:gpu_cache_usage_perc", .into = &ModelReading::kv_cache_usage_ratio},
    {.name = "lmdeploy:request_success", .into = &ModelReading::requests_done},
    {.name = "lmdeploy:request_queue_time_seconds_sum", .into = &ModelReading::queue_seconds},
    {.name = "lmdeploy:request_queue_time_seconds_count", .into = &ModelReading::queued_requests},
    {.name = "lmdeploy:prompt_tokens", .into = &ModelReading::prompt_tokens},
    {.name = "lmdeploy:generation_tokens", .into = &ModelReading::generation_tokens},
    {.name = "lmdeploy:request_generation_tokens_count", .into = &ModelReading::answers},
    {.name = "lmdeploy:request_generation_tokens_sum", .into = &ModelReading::answer_tokens},
};

constexpr HistogramMapping kLmDeployHistograms[] = {
    {.name = "lmdeploy:time_to_first_token_seconds", .into = &ModelReading::first_token_seconds},
    {.name = "lmdeploy:time_per_output_token_seconds", .into = &ModelReading::output_token_seconds},
};

constexpr absl::string_view kLmDeployMarks[] = {"lmdeploy:"};

constexpr EngineExposition kLmDeployExposition = {.marks = kLmDeployMarks,
                                                  .model_label = "model_name",
                                                  .numbers = kLmDeployNumbers,
                                                  .histograms = kLmDeployHistograms};

}  // namespace

const Engine& LmDeploy() {
  static constexpr Engine kEngine = {.name = "lmdeploy",
                                     .port = 23333,
                                     .path = "/metrics",
                                     .exposition = &kLmDeployExposition,
                                     .read = ReadAllSeries<kLmDeployExposition>};
  return kEngine;
}

}  // namespace gpuscaler
