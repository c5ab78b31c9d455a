#include "scaling/replica.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "scaling/replica_reader.h"

namespace gpuscaler {
namespace {

using Block = std::span<const GpuSeries>;

// Blocks of a node's GPUs that are there; a GPU that has gone stands alone.
std::vector<Block> BlocksOf(const Trigger& trigger, const ScopedFleet& scoped) {
  const Block gpus(scoped.gpus);
  const size_t wanted = static_cast<size_t>(trigger.gpus_per_replica);
  std::vector<Block> blocks;
  for (size_t first = 0; first < gpus.size(); first += blocks.back().size()) {
    size_t size = 1;
    while (gpus[first].present() && size < wanted && first + size < gpus.size() &&
           gpus[first + size].present() && gpus[first + size].node == gpus[first].node) {
      ++size;
    }
    blocks.push_back(gpus.subspan(first, size));
  }
  return blocks;
}

}  // namespace

Population ReplicasInUse(const Trigger& trigger, const ScopedFleet& scoped,
                         const Patience& patience) {
  Population population{.from = "GPUs in use"};
  std::vector<Replica> gone;
  for (const Block block : BlocksOf(trigger, scoped)) {
    ReplicaReader reader(trigger, scoped, patience, block);
    bool held = false;
    for (Replica& replica : reader.Read()) {
      held |= replica.present;
      (replica.present ? population.replicas : gone).push_back(std::move(replica));
    }
    if (held || !block.front().present()) continue;
    population.idle.push_back(
        {.name = reader.Name(), .gpu_uuids = reader.Uuids(), .metric = reader.Newest()});
  }
  std::ranges::move(gone, std::back_inserter(population.replicas));
  return population;
}

}  // namespace gpuscaler
