#include "model/memory_watch.h"

namespace gpuscaler {

void MemoryWatch::Annotate(NodeSnapshot& snapshot) {
  std::map<std::pair<std::string, absl::Time>, SteadyMemory> memory;
  for (GpuSample& gpu : snapshot.gpus) {
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

}  // namespace gpuscaler
