#include "fleet/reading_weight.h"

#include <algorithm>

#include "fleet/gpu_wire.h"
#include "model/point_block.h"

namespace gpuscaler {
namespace {

// Allocations for a reading besides its numbers, also while it is decoded.
constexpr size_t kReadingOverhead = 1024;

size_t WeightOf(const Pod& pod) {
  size_t bytes = sizeof(Pod) + pod.namespace_name.size() + pod.name.size() + pod.uid.size() +
                 pod.address.size();
  for (const PodOwner& owner : pod.owners) {
    bytes += sizeof(PodOwner) + owner.kind.size() + owner.name.size() + owner.group.size();
  }
  return bytes;
}

size_t WeightOf(const GpuSample& gpu) {
  size_t bytes = sizeof(GpuSample) + gpu.uuid.size() + gpu.parent_uuid.size() + gpu.name.size() +
                 gpu.link_group.size() + gpu.steady_memory.past.size() * sizeof(SteadyRun);
  if (gpu.processes) bytes += gpu.processes->size() * sizeof(GpuProcess);
  for (const GpuGap& gap : gpu.gaps) bytes += sizeof(GpuGap) + gap.detail.size();
  for (const GpuHolder& holder : gpu.holders) bytes += sizeof(GpuHolder) + holder.container.size();
  return bytes;
}

bool HasSameLayout(const NodeSnapshot& a, const NodeSnapshot& b) {
  return a.attribution == b.attribution && a.pods == b.pods &&
         std::ranges::equal(a.gpus, b.gpus, [](const GpuSample& one, const GpuSample& other) {
           return IsSameGpu(one, other) && HaveSameHolders(one.holders, other.holders);
         });
}

size_t PointsOf(const NodeSnapshot& snapshot) {
  size_t bytes = kReadingOverhead + snapshot.gpus.size() * PointBlock::kMaxBytesOfGpu;
  for (const GpuSample& gpu : snapshot.gpus) {
    bytes += gpu.holders.size() * PointBlock::kMaxBytesOfShare;
  }
  return bytes;
}

// Holders that have left their GPUs are kept (NodeHistory::past_holders).
size_t HoldersThatLeft(const NodeSnapshot& before, const NodeSnapshot& snapshot) {
  size_t bytes = 0;
  for (size_t i = 0; i < before.gpus.size(); ++i) {
    const GpuSample& gpu = before.gpus[i];
    const bool stays = i < snapshot.gpus.size() && snapshot.gpus[i].in_use &&
                       snapshot.gpus[i].uuid == gpu.uuid &&
                       snapshot.gpus[i].held_since == gpu.held_since;
    if (gpu.in_use && !stays) bytes += WeightOf(gpu);
  }
  return bytes;
}

}  // namespace

size_t WeightOf(const NodeSnapshot& snapshot) {
  size_t bytes = sizeof(NodeSnapshot) + snapshot.source.size() + snapshot.attribution.why.size();
  for (const GpuSample& gpu : snapshot.gpus) bytes += WeightOf(gpu);
  for (const Pod& pod : snapshot.pods) bytes += WeightOf(pod);
  return bytes;
}

ReadingWeight StoredWeightOf(const NodeSnapshot* before, const NodeSnapshot& snapshot) {
  const size_t whole = WeightOf(snapshot);
  const size_t points = PointsOf(snapshot);
  ReadingWeight weight{
      .whole = whole, .standalone = points + whole, .after_previous = points + whole};
  if (before == nullptr) return weight;
  const size_t layout = HasSameLayout(*before, snapshot) ? 0 : whole;
  weight.after_previous = points + layout + HoldersThatLeft(*before, snapshot);
  return weight;
}

}  // namespace gpuscaler
