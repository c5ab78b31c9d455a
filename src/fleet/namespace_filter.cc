#include "fleet/namespace_filter.h"

#include <algorithm>
#include <utility>

#include "fleet/gpu_wire.h"

namespace gpuscaler {

bool NamespaceFilter::IsHeld(const NodeSnapshot& snapshot, const GpuSample& gpu) const {
  return std::ranges::any_of(gpu.holders, [&](const GpuHolder& holder) {
    return Has(snapshot.pods[static_cast<size_t>(holder.pod)].namespace_name);
  });
}

void NamespaceFilter::UpdateHolders(const NodeSnapshot& snapshot) {
  known_at_ = snapshot.taken_at;
  for (const GpuSample& gpu : snapshot.gpus) {
    if (!IsHeld(snapshot, gpu)) continue;
    held_at_[gpu.uuid] = known_at_;
    // An instance may lack a metric that its parent has.
    if (IsMig(gpu)) held_at_[gpu.parent_uuid] = known_at_;
  }
  std::erase_if(held_at_, [this](const auto& gpu) { return known_at_ - gpu.second > horizon_; });
}

void NamespaceFilter::DropPods(NodeSnapshot& snapshot) const {
  std::vector<bool> is_holder(snapshot.pods.size());
  for (const GpuSample& gpu : snapshot.gpus) {
    for (const GpuHolder& holder : gpu.holders) is_holder[static_cast<size_t>(holder.pod)] = true;
  }
  const std::vector<Pod>& pods = snapshot.pods;
  std::vector<int> new_index(pods.size());
  std::vector<Pod> kept;
  for (size_t i = 0; i < pods.size(); ++i) {
    if (!is_holder[i] && !Has(pods[i].namespace_name)) continue;
    new_index[i] = static_cast<int>(kept.size());
    kept.push_back(pods[i]);
  }
  if (kept.size() == pods.size()) return;
  snapshot.pods = std::move(kept);
  for (GpuSample& gpu : snapshot.gpus.Own()) {
    for (GpuHolder& holder : gpu.holders) holder.pod = new_index[static_cast<size_t>(holder.pod)];
  }
}

NodeSnapshot NamespaceFilter::Filter(NodeSnapshot snapshot) {
  if (snapshot.attribution.state == Attribution::State::kKnown) UpdateHolders(snapshot);
  if (known_at_ == absl::InfinitePast()) return snapshot;
  for (GpuSample& gpu : snapshot.gpus.Own()) {
    if (!held_at_.contains(gpu.uuid)) gpu = IdentityOf(std::move(gpu));
  }
  DropPods(snapshot);
  return snapshot;
}

}  // namespace gpuscaler
