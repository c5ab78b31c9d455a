// Text Embeddings Inference [text-embeddings-inference/router/src]. It says neither how many
// requests run nor which model it has. Before its first request the page is empty (1.9;
// text-embeddings-inference #520).
#include "engine/engines.h"

namespace gpuscaler {
namespace {

constexpr absl::string_view kTeiCame = "te_request_count";
constexpr absl::string_view kTeiDone = "te_request_success";

constexpr NumberRow kNumbersOfTei[] = {
    {.name = "te_queue_size", .into = &ModelReading::waiting, .zero_before = kTeiCame},
    {.name = "te_request_success", .into = &ModelReading::requests_done, .zero_before = kTeiDone},
    {.name = "te_request_queue_duration_sum",
     .into = &ModelReading::queue_seconds,
     .zero_before = kTeiDone},
    {.name = "te_request_queue_duration_count",
     .into = &ModelReading::queued_requests,
     .zero_before = kTeiDone},
};

constexpr absl::string_view kMarksOfTei[] = {"te_queue_size", "te_request_count",
                                             "te_request_success"};

constexpr EngineExposition kPageOfTei = {
    .marks = kMarksOfTei, .may_be_empty = true, .numbers = kNumbersOfTei};

absl::StatusOr<EngineReading> ReadTei(absl::string_view page, const ScrapeInterest& interest) {
  return ReadEngineExposition(kPageOfTei, page, interest);
}

}  // namespace

const Engine& Tei() {
  static constexpr Engine kEngine = {.name = "tei",
                                     .port = 80,
                                     .path = "/metrics",
                                     .page = &kPageOfTei,
                                     .info_mark = "\"tokenization_workers\":",
                                     .read = ReadTei};
  return kEngine;
}

}  // namespace gpuscaler
