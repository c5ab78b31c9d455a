// A node without a source of GPU readings: each reading is UNAVAILABLE.
#pragma once

#include "absl/status/status.h"
#include "gpu/gpu_source.h"

namespace gpuscaler {

// Thread-safe. Never blocks.
class NoSource : public GpuSource {
 public:
  absl::StatusOr<NodeSnapshot> Read(const CostlyReadings&) override {
    return absl::UnavailableError("no GPU is read: --gpu-source none");
  }
};

}  // namespace gpuscaler
