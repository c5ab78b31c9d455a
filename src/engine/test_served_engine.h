// A simulated engine that serves a batch, and the node of its pod.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "engine/engine_group.h"
#include "model/node_snapshot.h"

namespace gpuscaler {

// Generates 20 tokens per second for each running request, if it is read once a second.
struct ServedEngine {
  static constexpr double kTokensPerAnswer = 40;

  EngineUpdate Read(absl::Time at, double running) {
    tokens += 20 * running;
    const double answers = tokens / kTokensPerAnswer;
    return {.at = at,
            .engine = "vllm",
            .reading = EngineReading{{{.model = model,
                                       .waiting = 0,
                                       .running = running,
                                       .kv_cache_usage_ratio = running / 100,
                                       .requests_done = answers,
                                       .generation_tokens = tokens,
                                       .answers = answers,
                                       .answer_tokens = tokens}}}};
  }

  std::string model = "llama";
  double tokens = 0;
};

// The address of the engine in a pod of namespace team-a.
inline EngineAddress EngineAddressOf(const std::string& pod) {
  return {.address = "10.0.0.1", .port = 8000, .namespace_name = "team-a", .pod = pod};
}

// The snapshot of a node with one GPU, which the engine's pod holds.
inline NodeSnapshot NodeSnapshotOf(const EngineAddress& engine_address,
                                   const std::string& gpu_model = "H100") {
  NodeSnapshot node;
  node.pods = {{.namespace_name = engine_address.namespace_name,
                .name = engine_address.pod,
                .owners = {{.kind = "Deployment", .name = "llm"}},
                .owners_from = Pod::OwnersFrom::kReferences}};
  node.gpus = {{.uuid = absl::StrCat("GPU-", engine_address.pod),
                .name = gpu_model,
                .memory_used_bytes = int64_t{70} << 30,
                .memory_total_bytes = int64_t{80} << 30,
                .holders = {{}}}};
  return node;
}

}  // namespace gpuscaler
