// Text Generation Inference [text-generation-inference/router/src/server.rs]. One model, which it
// does not name, and no KV-cache use. Its counters have no _total.
#include "engine/engines.h"

namespace gpuscaler {
namespace {

constexpr NumberRow kNumbersOfTgi[] = {
    {.name = "tgi_queue_size", .into = &ModelReading::waiting},
    {.name = "tgi_batch_current_size", .into = &ModelReading::running},
    {.name = "tgi_request_success", .into = &ModelReading::requests_done},
    {.name = "tgi_request_queue_duration_sum", .into = &ModelReading::queue_seconds},
    {.name = "tgi_request_queue_duration_count", .into = &ModelReading::queued_requests},
    {.name = "tgi_request_input_length_sum", .into = &ModelReading::prompt_tokens},
    {.name = "tgi_request_generated_tokens_sum", .into = &ModelReading::generation_tokens},
};

constexpr HistogramRow kHistogramsOfTgi[] = {
    {.name = "tgi_request_mean_time_per_token_duration",  // one value a request
     .into = &ModelReading::output_token_seconds},
};

constexpr absl::string_view kMarksOfTgi[] = {"tgi_"};

absl::StatusOr<EngineReading> ReadTgi(absl::string_view page, const PageWish& wish) {
  static constexpr EnginePage kPage = {.numbers = kNumbersOfTgi, .histograms = kHistogramsOfTgi};
  return ReadEnginePage(kPage, page, wish);
}

}  // namespace

const Engine& Tgi() {
  static constexpr Engine kEngine = {
      .name = "tgi", .port = 80, .path = "/metrics", .marks = kMarksOfTgi, .read = ReadTgi};
  return kEngine;
}

}  // namespace gpuscaler
