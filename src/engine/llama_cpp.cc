// llama.cpp's server, with --metrics [tools/server/README.md]. It serves one model and exports no
// model name. Newer builds export no KV-cache usage, and none exports finished requests. The
// default port will move from 8080 to 9931 (llama.cpp #26508).
#include "engine/engines.h"

namespace gpuscaler {
namespace {

constexpr NumberMapping kLlamaCppNumbers[] = {
    {.name = "llamacpp:requests_deferred", .into = &ModelReading::waiting},
    {.name = "llamacpp:requests_processing", .into = &ModelReading::running},
    {.name = "llamacpp:kv_cache_usage_ratio", .into = &ModelReading::kv_cache_usage_ratio},
    {.name = "llamacpp:prompt_tokens", .into = &ModelReading::prompt_tokens},
    {.name = "llamacpp:tokens_predicted", .into = &ModelReading::generation_tokens},
};

constexpr absl::string_view kLlamaCppMarks[] = {"llamacpp:"};

constexpr EngineExposition kLlamaCppExposition = {.marks = kLlamaCppMarks,
                                                  .numbers = kLlamaCppNumbers};

}  // namespace

const Engine& LlamaCpp() {
  static constexpr Engine kEngine = {.name = "llama_cpp",
                                     .port = 8080,
                                     .newer_port = 9931,
                                     .path = "/metrics",
                                     .exposition = &kLlamaCppExposition,
                                     .read = ReadAllSeries<kLlamaCppExposition>};
  return kEngine;
}

}  // namespace gpuscaler
