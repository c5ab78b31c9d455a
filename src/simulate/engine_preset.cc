#include "simulate/engine_preset.h"

#include <algorithm>

namespace gpuscaler {
namespace {

constexpr double kMilliseconds = 1e-3, kMicroseconds = 1e-6, kNanoseconds = 1e-9;

// The batch of an 8B model on one H100-class GPU.
BatchEngineOptions BatchOf8b() {
  return {.max_num_seqs = 256,
          .kv_cache_tokens = 450'000,
          .step = {.base = 7 * kMilliseconds,
                   .per_request = 0.03 * kMilliseconds,
                   .per_kv_token = 50 * kNanoseconds,
                   .per_prefill_token = 25 * kMicroseconds}};
}

}  // namespace

std::span<const EnginePreset> EnginePresets() {
  static const EnginePreset presets[] = {
      // The batch limit binds, at 93 % of it; the KV cache never does.
      {.name = "small-batch",
       .help = "A batch of 64 that fills before anything else does",
       .batch = {.max_num_seqs = 64,
                 .kv_cache_tokens = 400'000,
                 .step = {.base = 12 * kMilliseconds, .per_request = 0.25 * kMilliseconds}},
       .request = {.prompt_tokens = 200, .max_tokens = 250},
       .goals = {absl::Seconds(2), absl::Milliseconds(40)},
       .requests_per_second = 8.5},
      // The goals bind, at 90 in flight: 35 % of the batch limit, 24 % of the KV cache.
      {.name = "8b",
       .help = "An 8B model on one H100-class GPU, chat",
       .batch = BatchOf8b(),
       .request = {.prompt_tokens = 1000, .max_tokens = 300},
       .goals = {absl::Seconds(1), absl::Milliseconds(30)},
       .requests_per_second = 13},
      // Prompts take half of the time, and wait for the token budget at a batch of 20.
      {.name = "8b-long-prompts",
       .help = "The same model with prompts of 8,000 tokens",
       .batch = BatchOf8b(),
       .request = {.prompt_tokens = 8000, .max_tokens = 300},
       .goals = {absl::Seconds(4), absl::Milliseconds(120)},
       .requests_per_second = 2.3},
      // Answers take minutes: the KV cache binds, at 59 in flight, and load changes slowly.
      {.name = "8b-long-answers",
       .help = "The same model with answers of 8,000 tokens",
       .batch = BatchOf8b(),
       .request = {.prompt_tokens = 1000, .max_tokens = 8000},
       .goals = {absl::Seconds(2), absl::Milliseconds(40)},
       .requests_per_second = 0.31},
      // Qwen3-32B on two H100, as measured by llm-d: 1.4 to 1.5 requests per second per replica
      // [llm-d guides/workload-autoscaling/slo-aware/benchmark-templates/BENCHMARK.md].
      {.name = "llm-d",
       .help = "A 32B model on two H100-class GPUs, as in llm-d's published episode",
       .batch = {.max_num_seqs = 256,
                 .kv_cache_tokens = 540'000,
                 .step = {.base = 16 * kMilliseconds,
                          .per_request = 0.05 * kMilliseconds,
                          .per_kv_token = 55 * kNanoseconds,
                          .per_prefill_token = 56 * kMicroseconds}},
       .request = {.prompt_tokens = 4000, .max_tokens = 1000},
       .goals = {absl::Seconds(3), absl::Milliseconds(100)},
       .requests_per_second = 1.42},
  };
  return presets;
}

const EnginePreset* EnginePresetNamed(absl::string_view name) {
  const auto found = std::ranges::find(EnginePresets(), name, &EnginePreset::name);
  return found == EnginePresets().end() ? nullptr : &*found;
}

}  // namespace gpuscaler
