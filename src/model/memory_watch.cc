#include "model/memory_watch.h"

#include <utility>

namespace gpuscaler {

void MemoryWatch::Annotate(NodeSnapshot& snapshot) {
  std::map<std::string, Watched> watched;
  for (GpuSample& gpu : snapshot.gpus) {
    if (!gpu.in_use) continue;
    const auto before = watched_.find(gpu.uuid);
    const bool same_holder =
        before != watched_.end() && before->second.held_since == gpu.held_since;
    Watched now =
        same_holder ? before->second : Watched{.held_since = gpu.held_since, .memory = {}};
    if (const auto percent = MemoryUsedPercent(gpu)) now.memory.Add(snapshot.taken_at, *percent);
    gpu.steady_memory = now.memory;
    watched.emplace(gpu.uuid, now);
  }
  watched_ = std::move(watched);
}

}  // namespace gpuscaler
