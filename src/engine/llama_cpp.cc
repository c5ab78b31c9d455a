// llama.cpp's server, with --metrics [tools/server/README.md]. One model, which it does not name;
// newer builds tell no KV-cache use, none tells when requests are done. The default port will move
// from 8080 to 9931 (llama.cpp #26508).
#include "engine/engines.h"

namespace gpuscaler {
namespace {

constexpr NumberRow kNumbersOfLlamaCpp[] = {
    {.name = "llamacpp:requests_deferred", .into = &ModelReading::waiting},
    {.name = "llamacpp:requests_processing", .into = &ModelReading::running},
    {.name = "llamacpp:kv_cache_usage_ratio",
     .into = &ModelReading::kv_cache_usage_ratio,
     .adding = Adding::kFullest},
    {.name = "llamacpp:prompt_tokens", .into = &ModelReading::prompt_tokens},
    {.name = "llamacpp:tokens_predicted", .into = &ModelReading::generation_tokens},
};

constexpr absl::string_view kMarksOfLlamaCpp[] = {"llamacpp:"};

constexpr EngineExposition kPageOfLlamaCpp = {.marks = kMarksOfLlamaCpp,
                                              .numbers = kNumbersOfLlamaCpp};

absl::StatusOr<EngineReading> ReadLlamaCpp(absl::string_view page, const ScrapeInterest& interest) {
  return ReadEngineExposition(kPageOfLlamaCpp, page, interest);
}

}  // namespace

const Engine& LlamaCpp() {
  static constexpr Engine kEngine = {.name = "llama_cpp",
                                     .port = 8080,
                                     .later_port = 9931,
                                     .path = "/metrics",
                                     .page = &kPageOfLlamaCpp,
                                     .read = ReadLlamaCpp};
  return kEngine;
}

}  // namespace gpuscaler
