// Snapshots to send, for tests.
#pragma once

#include <string>

#include "absl/strings/str_cat.h"
#include "model/memory_watch.h"
#include "model/node_snapshot.h"

namespace gpuscaler {

// A busy H100 with everything that a driver reports.
inline GpuSample WorkingGpu(int index, double utilization_percent = 87) {
  return {.uuid = absl::StrCat("GPU-5c6e2a10-0c3f-4f0e-9a5b-00000000000", index),
          .name = "NVIDIA H100 80GB HBM3",
          .index = index,
          .utilization_percent = utilization_percent,
          .memory_utilization_percent = 41,
          .memory_used_bytes = int64_t{73} << 30,
          .memory_total_bytes = int64_t{80} << 30,
          .temperature_celsius = 61,
          .power_watts = 512.317,
          .power_limit_watts = 700,
          .nvlink_tx_mbps = 12.5,
          .nvlink_rx_mbps = 13.5,
          .processes = {{{.pid = 4711 + index, .memory_bytes = int64_t{72} << 30}}},
          .ecc_uncorrected_errors = 0,
          .throttle_reasons = 4,
          .in_use = true};
}

inline NodeSnapshot SnapshotOf(int gpus, absl::Time at, const std::string& node = "gpu-7") {
  NodeSnapshot snapshot{
      .taken_at = at, .node = node, .source = "nvml", .driver_version = "570.124.06"};
  for (int i = 0; i < gpus; ++i) snapshot.gpus.push_back(WorkingGpu(i));
  return snapshot;
}

// Adds a pod for each GPU, which holds it.
inline void AddPods(NodeSnapshot& snapshot) {
  snapshot.attribution.state = Attribution::State::kKnown;
  for (GpuSample& gpu : snapshot.gpus.Own()) {
    gpu.holders = {{.pod = static_cast<int>(snapshot.pods.size()), .container = "vllm"}};
    snapshot.pods.push_back({.namespace_name = "team-a",
                             .name = absl::StrCat("llama-7d9c5b8f4-x2k", gpu.index),
                             .uid = absl::StrCat("0e9f6c1e-", snapshot.node, "-", gpu.index),
                             .owners = {{.kind = "Deployment", .name = "llama"}},
                             .owners_from = Pod::OwnersFrom::kReferences,
                             .ready = true,
                             .was_ready = true,
                             .is_terminating = false,
                             .address = absl::StrCat("10.1.7.", gpu.index + 10),
                             .listed_since = absl::FromUnixSeconds(1'767'200'000 + gpu.index),
                             .owner_listed_since = absl::FromUnixSeconds(1'767'000'000)});
  }
}

}  // namespace gpuscaler
