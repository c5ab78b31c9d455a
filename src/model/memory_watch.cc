#include "model/memory_watch.h"

#include <utility>

namespace gpuscaler {

void MemoryWatch::Annotate(NodeSnapshot& snapshot) {
  std::map<std::string, GpuInUse> gpus_in_use;
  for (GpuSample& gpu : snapshot.gpus) {
    if (!gpu.in_use) continue;
    const auto before = gpus_in_use_.find(gpu.uuid);
    const bool same_holder =
        before != gpus_in_use_.end() && before->second.held_since == gpu.held_since;
    GpuInUse now =
        same_holder ? before->second : GpuInUse{.held_since = gpu.held_since, .memory = {}};
    if (const auto percent = MemoryUsedPercent(gpu)) now.memory.Add(snapshot.taken_at, *percent);
    gpu.steady_memory = now.memory;
    gpus_in_use.emplace(gpu.uuid, now);
  }
  gpus_in_use_ = std::move(gpus_in_use);
}

}  // namespace gpuscaler
