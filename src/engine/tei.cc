// Text Embeddings Inference [text-embeddings-inference/router/src]. It says neither how many
// requests run nor which model it has.
#include "engine/engines.h"

namespace gpuscaler {
namespace {

constexpr NumberRow kNumbersOfTei[] = {
    {.name = "te_queue_size", .into = &ModelReading::waiting},
    {.name = "te_request_success", .into = &ModelReading::requests_done},
    {.name = "te_request_queue_duration_sum", .into = &ModelReading::queue_seconds},
    {.name = "te_request_queue_duration_count", .into = &ModelReading::queued_requests},
};

constexpr absl::string_view kMarksOfTei[] = {"te_queue_size", "te_request_count",
                                             "te_request_success"};

absl::StatusOr<EngineReading> ReadTei(absl::string_view page, const PageWish& wish) {
  static constexpr EnginePage kPage = {.numbers = kNumbersOfTei};
  return ReadEnginePage(kPage, page, wish);
}

}  // namespace

const Engine& Tei() {
  static constexpr Engine kEngine = {
      .name = "tei", .port = 80, .path = "/metrics", .marks = kMarksOfTei, .read = ReadTei};
  return kEngine;
}

}  // namespace gpuscaler
