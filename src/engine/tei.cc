// Text Embeddings Inference [text-embeddings-inference/router/src]. It exports neither running
// requests nor a model name. Before its first request the exposition is empty (1.9;
// text-embeddings-inference #520).
#include "engine/engines.h"

namespace gpuscaler {
namespace {

constexpr NumberMapping kTeiNumbers[] = {
    {.name = "te_queue_size", .into = &ModelReading::waiting, .zero_before = "te_request_count"},
    {.name = "te_request_success", .into = &ModelReading::requests_done},
    {.name = "te_request_queue_duration_sum", .into = &ModelReading::queue_seconds},
    {.name = "te_request_queue_duration_count", .into = &ModelReading::queued_requests},
};

constexpr absl::string_view kTeiMarks[] = {"te_queue_size", "te_request_count",
                                           "te_request_success"};

constexpr EngineExposition kTeiExposition = {.marks = kTeiMarks,
                                             .may_be_empty = true,
                                             .zero_before = "te_request_success",
                                             .numbers = kTeiNumbers};

}  // namespace

const Engine& Tei() {
  static constexpr Engine kEngine = {.name = "tei",
                                     .port = 80,
                                     .path = "/metrics",
                                     .exposition = &kTeiExposition,
                                     .info_mark = "\"tokenization_workers\":",
                                     .read = ReadAllSeries<kTeiExposition>};
  return kEngine;
}

}  // namespace gpuscaler
