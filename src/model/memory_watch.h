// Tracks the GPU memory of each holder from reading to reading.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "model/node_snapshot.h"

namespace gpuscaler {

// Fills `steady_memory`. Requires `in_use` and `held_since`. Not thread-safe: used by the sampler.
class MemoryWatch {
 public:
  void Annotate(NodeSnapshot& snapshot) {
    std::map<std::pair<std::string, absl::Time>, SteadyMemory> memory;
    for (GpuSample& gpu : snapshot.gpus.Own()) {
      if (!gpu.in_use) continue;
      const std::pair holder(gpu.uuid, gpu.held_since);
      const auto before = memory_.find(holder);
      gpu.steady_memory = before == memory_.end() ? SteadyMemory() : before->second;
      if (const auto percent = MemoryUsedPercent(gpu)) {
        gpu.steady_memory.Add(snapshot.taken_at, *percent);
      }
      memory[holder] = gpu.steady_memory;
    }
    memory_ = std::move(memory);
  }

 private:
  // That of each GPU in use. The key is its UUID, and since when its holder has it.
  std::map<std::pair<std::string, absl::Time>, SteadyMemory> memory_;
};

}  // namespace gpuscaler
