// Text Generation Inference [text-generation-inference/router/src/server.rs]. It serves one model
// and exports neither its name nor KV-cache usage. Its counters have no _total.
//
// Each metric is exported after its first value (metrics-exporter-prometheus). At its start 3.x
// exports tgi_batch_max_total_tokens only, and 2.x and older nothing at all. tgi_batch_current_size
// follows the first batch that does not finish at once, later than tgi_queue_size. The backends for
// TensorRT-LLM and llama.cpp export neither of these two.
#include "base/status_macros.h"
#include "engine/engines.h"

namespace gpuscaler {
namespace {

constexpr absl::string_view kTgiArrived = "tgi_request_count";

// Label err: "dropped" by the client, "generation" failed [backends/v3/src/{queue,backend}.rs].
// Others, such as "overloaded" and "validation", never entered the queue [router/src/infer].
constexpr absl::string_view kTgiFailed = "tgi_request_failure";

constexpr NumberMapping kTgiNumbers[] = {
    {.name = "tgi_queue_size", .into = &ModelReading::waiting, .zero_before = kTgiArrived},
    {.name = "tgi_batch_current_size", .into = &ModelReading::running, .zero_before = kTgiArrived},
    {.name = "tgi_request_success", .into = &ModelReading::requests_done},
    // Requests that were in the queue or the batch. Others are refused before they enter the queue.
    {.name = kTgiFailed, .into = &ModelReading::requests_done, .label = "err", .value = "dropped"},
    {.name = kTgiFailed,
     .into = &ModelReading::requests_done,
     .label = "err",
     .value = "generation"},
    {.name = "tgi_request_queue_duration_sum", .into = &ModelReading::queue_seconds},
    {.name = "tgi_request_queue_duration_count", .into = &ModelReading::queued_requests},
    {.name = "tgi_request_input_length_sum", .into = &ModelReading::prompt_tokens},
    {.name = "tgi_request_generated_tokens_sum", .into = &ModelReading::generation_tokens},
    {.name = "tgi_request_generated_tokens_count", .into = &ModelReading::answers},
    {.name = "tgi_request_generated_tokens_sum", .into = &ModelReading::answer_tokens},
};

constexpr HistogramMapping kTgiHistograms[] = {
    {.name = "tgi_request_mean_time_per_token_duration",  // one value per request
     .into = &ModelReading::output_token_seconds},
};

constexpr absl::string_view kTgiMarks[] = {"tgi_"};

constexpr EngineExposition kTgiExposition = {.marks = kTgiMarks,
                                             .may_be_empty = true,
                                             .zero_before = "tgi_request_success",
                                             .numbers = kTgiNumbers,
                                             .histograms = kTgiHistograms};

absl::StatusOr<EngineReading> ReadTgi(absl::string_view page, const ScrapeInterest& interest) {
  ASSIGN_OR_RETURN(EngineReading reading, ReadEngineExposition(kTgiExposition, page, interest));
  for (ModelReading& model : reading.models) {
    if (model.waiting.has_value() && !model.running.has_value()) model.running = 0;
  }
  return reading;
}

}  // namespace

const Engine& Tgi() {
  static constexpr Engine kEngine = {.name = "tgi",
                                     .port = 80,
                                     .path = "/metrics",
                                     .exposition = &kTgiExposition,
                                     .info_mark = "\"validation_workers\":",
                                     .read = ReadTgi};
  return kEngine;
}

}  // namespace gpuscaler
