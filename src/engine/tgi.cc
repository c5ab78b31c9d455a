// Text Generation Inference [text-generation-inference/router/src/server.rs]. One model, which it
// does not name, and no KV-cache use. Its counters have no _total.
//
// Each metric comes to the page with its first value (metrics-exporter-prometheus). From its start
// 3.x has tgi_batch_max_total_tokens alone, 2.x and older nothing at all; tgi_batch_current_size
// comes behind the first batch that is not done at once, later than tgi_queue_size. Of the backends
// for TensorRT-LLM and llama.cpp there is neither.
#include "base/status_macros.h"
#include "engine/engines.h"

namespace gpuscaler {
namespace {

constexpr absl::string_view kTgiCame = "tgi_request_count";
constexpr absl::string_view kTgiDone = "tgi_request_success";

// Its label err: "dropped" by the client, "generation" failed [backends/v3/src/{queue,backend}.rs],
// and "overloaded", "validation" and others, which never came into the queue [router/src/infer].
constexpr absl::string_view kTgiFailed = "tgi_request_failure";

constexpr NumberRow kNumbersOfTgi[] = {
    {.name = "tgi_queue_size", .into = &ModelReading::waiting, .zero_before = kTgiCame},
    {.name = "tgi_batch_current_size", .into = &ModelReading::running, .zero_before = kTgiCame},
    {.name = "tgi_request_success", .into = &ModelReading::requests_done, .zero_before = kTgiDone},
    // Those that were in the queue or the batch; others are refused before they come there.
    {.name = kTgiFailed, .into = &ModelReading::requests_done, .label = "err", .value = "dropped"},
    {.name = kTgiFailed,
     .into = &ModelReading::requests_done,
     .label = "err",
     .value = "generation"},
    {.name = "tgi_request_queue_duration_sum",
     .into = &ModelReading::queue_seconds,
     .zero_before = kTgiDone},
    {.name = "tgi_request_queue_duration_count",
     .into = &ModelReading::queued_requests,
     .zero_before = kTgiDone},
    {.name = "tgi_request_input_length_sum",
     .into = &ModelReading::prompt_tokens,
     .zero_before = kTgiDone},
    {.name = "tgi_request_generated_tokens_sum",
     .into = &ModelReading::generation_tokens,
     .zero_before = kTgiDone},
    {.name = "tgi_request_generated_tokens_count",
     .into = &ModelReading::answers,
     .zero_before = kTgiDone},
    {.name = "tgi_request_generated_tokens_sum",
     .into = &ModelReading::answer_tokens,
     .zero_before = kTgiDone},
};

constexpr HistogramRow kHistogramsOfTgi[] = {
    {.name = "tgi_request_mean_time_per_token_duration",  // one value a request
     .into = &ModelReading::output_token_seconds,
     .zero_before = kTgiDone},
};

constexpr absl::string_view kMarksOfTgi[] = {"tgi_"};

constexpr EngineExposition kPageOfTgi = {.marks = kMarksOfTgi,
                                         .may_be_empty = true,
                                         .numbers = kNumbersOfTgi,
                                         .histograms = kHistogramsOfTgi};

absl::StatusOr<EngineReading> ReadTgi(absl::string_view page, const ScrapeInterest& interest) {
  ASSIGN_OR_RETURN(EngineReading reading, ReadEngineExposition(kPageOfTgi, page, interest));
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
                                     .page = &kPageOfTgi,
                                     .info_mark = "\"validation_workers\":",
                                     .read = ReadTgi};
  return kEngine;
}

}  // namespace gpuscaler
