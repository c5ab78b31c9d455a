#include "simulate/test_workload_controller.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace gpuscaler {
namespace {

using Pods = std::vector<const SimulatedPod*>;

Pods ActiveOf(const GpuCluster& cluster, int revision) {
  Pods active;
  for (const SimulatedPod& pod : cluster.pods()) {
    if (pod.revision == revision && !pod.IsTerminating()) active.push_back(&pod);
  }
  return active;
}

int AvailableOf(const GpuCluster& cluster, int revision) {
  return static_cast<int>(
      std::ranges::count_if(ActiveOf(cluster, revision), &SimulatedPod::IsAvailable));
}

}  // namespace

int DeploymentController::Total() const {
  return std::accumulate(sizes_.begin(), sizes_.end(), 0,
                         [](int sum, const auto& set) { return sum + set.second; });
}

// Like ResolveFenceposts(): surge is rounded up and unavailability down; if both are 0, one pod may
// be unavailable.
int DeploymentController::Surge(int replicas) const {
  return strategy_.max_surge.RoundedUp(replicas);
}
int DeploymentController::Unavailable(int replicas) const {
  const int unavailable = strategy_.max_unavailable.RoundedDown(replicas);
  return unavailable == 0 && Surge(replicas) == 0 ? 1 : unavailable;
}

void DeploymentController::Sync(int replicas, GpuCluster& cluster) {
  sizes_.try_emplace(revision_, 0);
  if (strategy_.recreate) {
    Recreate(replicas, cluster);
  } else {
    if (replicas != scaled_to_) ScaleInProportion(replicas);
    if (!ScaleUpNew(replicas)) ScaleDownOld(replicas, cluster);
  }
  scaled_to_ = replicas;
  SyncSets(cluster);
  std::erase_if(sizes_,
                [this](const auto& set) { return set.second == 0 && set.first != revision_; });
}

// The new ReplicaSet starts when the last old pod is gone, including terminating ones.
void DeploymentController::Recreate(int replicas, const GpuCluster& cluster) {
  for (auto& [revision, size] : sizes_) {
    if (revision != revision_) size = 0;
  }
  const bool old_left = std::ranges::any_of(
      cluster.pods(), [this](const SimulatedPod& pod) { return pod.revision != revision_; });
  if (!old_left) sizes_[revision_] = replicas;
}

// If spec.replicas changes during a rollout, the change is divided among all ReplicaSets by size.
void DeploymentController::ScaleInProportion(int replicas) {
  const auto active = std::ranges::count_if(sizes_, [](const auto& set) { return set.second > 0; });
  if (active <= 1) {
    for (auto& [revision, size] : sizes_) {
      if (size > 0 || active == 0) size = active == 0 && revision != revision_ ? 0 : replicas;
    }
    return;
  }
  const int allowed = replicas + Surge(replicas);
  const int allowed_before = std::max(1, scaled_to_ + Surge(scaled_to_));
  int to_add = allowed - Total();
  for (auto& [revision, size] : sizes_) {
    const int share = (size * allowed + allowed_before / 2) / allowed_before - size;
    const int added = to_add > 0 ? std::clamp(share, 0, to_add) : std::clamp(share, to_add, 0);
    size += added;
    to_add -= added;
  }
  int& largest =
      std::ranges::max_element(sizes_, {}, [](const auto& set) { return set.second; })->second;
  largest = std::max(0, largest + to_add);
}

bool DeploymentController::ScaleUpNew(int replicas) {
  int& size = sizes_[revision_];
  if (size > replicas) {
    size = replicas;
    return true;
  }
  const int room = std::min(replicas + Surge(replicas) - Total(), replicas - size);
  if (room <= 0) return false;
  size += room;
  return true;
}

// Removes unavailable old pods first, then available ones down to the allowed minimum.
void DeploymentController::ScaleDownOld(int replicas, const GpuCluster& cluster) {
  const int least_available = replicas - Unavailable(replicas);
  const int new_unavailable = sizes_[revision_] - AvailableOf(cluster, revision_);
  int may_go = Total() - least_available - new_unavailable;
  for (auto& [revision, size] : sizes_) {
    if (revision == revision_ || may_go <= 0) continue;
    const int unhealthy = std::clamp(size - AvailableOf(cluster, revision), 0, may_go);
    size -= unhealthy;
    may_go -= unhealthy;
  }
  int spare = cluster.Available() - least_available;
  for (auto& [revision, size] : sizes_) {
    if (revision == revision_ || spare <= 0 || may_go <= 0) continue;
    const int gone = std::min({size, spare, may_go});
    size -= gone;
    spare -= gone;
    may_go -= gone;
  }
}

// Like the ReplicaSet controller, deletes Pending pods first, then those that are not Ready, then
// the youngest.
void DeploymentController::SyncSets(GpuCluster& cluster) const {
  for (const auto& [revision, size] : sizes_) {
    Pods active = ActiveOf(cluster, revision);
    std::ranges::stable_sort(active, [](const SimulatedPod* a, const SimulatedPod* b) {
      if (a->IsPending() != b->IsPending()) return b->IsPending();
      if (a->ready != b->ready) return a->ready;
      return a->created_at < b->created_at;
    });
    std::vector<std::string> surplus;
    for (size_t i = static_cast<size_t>(size); i < active.size(); ++i) {
      surplus.push_back(active[i]->name);
    }
    for (const std::string& name : surplus) cluster.Delete(name);
    for (size_t i = active.size(); i < static_cast<size_t>(size); ++i) {
      cluster.Create(template_, revision);
    }
  }
}

// Changes one pod at a time in the order of ordinals, each after the previous one is Ready.
void StatefulSetController::Sync(int replicas, GpuCluster& cluster) {
  std::map<int, const SimulatedPod*> by_ordinal;
  for (const SimulatedPod& pod : cluster.pods()) by_ordinal[pod.ordinal] = &pod;
  for (int ordinal = 0; ordinal < replicas; ++ordinal) {
    const auto found = by_ordinal.find(ordinal);
    if (found == by_ordinal.end()) return cluster.Create(template_, revision_, ordinal);
    if (!found->second->IsAvailable()) return;
  }
  if (!by_ordinal.empty() && by_ordinal.rbegin()->first >= replicas) {
    return cluster.Delete(by_ordinal.rbegin()->second->name);
  }
  for (auto pod = by_ordinal.rbegin(); pod != by_ordinal.rend(); ++pod) {
    if (pod->second->revision != revision_) return cluster.Delete(pod->second->name);
  }
}

}  // namespace gpuscaler
