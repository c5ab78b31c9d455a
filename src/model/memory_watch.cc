#include "model/memory_watch.h"

#include <utility>

namespace gpuscaler {

void MemoryWatch::Annotate(NodeSnapshot& snapshot) {
  std::map<std::string, Tracked> tracked;
  for (GpuSample& gpu : snapshot.gpus) {
    if (!gpu.in_use) continue;
    const auto before = tracked_.find(gpu.uuid);
    const bool same_holder =
        before != tracked_.end() && before->second.held_since == gpu.held_since;
    Tracked now =
        same_holder ? before->second : Tracked{.held_since = gpu.held_since, .memory = {}};
    if (const auto percent = MemoryUsedPercent(gpu)) now.memory.Add(snapshot.taken_at, *percent);
    gpu.steady_memory = now.memory;
    tracked.emplace(gpu.uuid, now);
  }
  tracked_ = std::move(tracked);
}

}  // namespace gpuscaler
