// Text Embeddings Inference [text-embeddings-inference/router/src]. It exports neither running
// requests nor a model name. Before its first request the exposition is empty (1.9;
// text-embeddings-inference #520).
#include "engine/engines.h"

namespace gpuscaler {
namespace {

constexpr absl::string_view kTeiArrived = "te_request_count";
constexpr absl::string_view kTeiDone = "te_request_success";

constexpr NumberMapping kTeiNumbers[] = {
    {.name = "te_queue_size", .into = &ModelReading::waiting, .zero_before = kTeiArrived},
    {.name = "te_request_success", .into = &ModelReading::requests_done, .zero_before = kTeiDone},
    {.name = "te_request_queue_duration_sum",
     .into = &ModelReading::queue_seconds,
     .zero_before = kTeiDone},
    {.name = "te_request_queue_duration_count",
     .into = &ModelReading::queued_requests,
     .zero_before = kTeiDone},
};

constexpr absl::string_view kTeiMarks[] = {"te_queue_size", "te_request_count",
                                           "te_request_success"};

constexpr EngineExposition kTeiExposition = {
    .marks = kTeiMarks, .may_be_empty = true, .numbers = kTeiNumbers};

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
