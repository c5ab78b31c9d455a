#include "gpu/exporter_holders.h"

#include <algorithm>
#include <map>
#include <optional>

namespace gpuscaler {
namespace {

// Adds the pod to the snapshot if it is new.
int PodIndexOf(const ExporterHolder& holder, NodeSnapshot& snapshot) {
  const auto found = std::ranges::find_if(snapshot.pods, [&](const Pod& pod) {
    return pod.name == holder.pod && pod.namespace_name == holder.namespace_name;
  });
  if (found != snapshot.pods.end()) return static_cast<int>(found - snapshot.pods.begin());
  Pod pod;
  pod.namespace_name = holder.namespace_name;
  pod.name = holder.pod;
  pod.uid = holder.pod_uid;
  snapshot.pods.push_back(std::move(pod));
  return static_cast<int>(snapshot.pods.size()) - 1;
}

struct PodUse {
  int containers = 0;
  std::optional<double> utilization;  // all containers together: each line has the pod's
};

// Empty: the use of some pod is unknown, or all are idle.
std::optional<double> TotalUse(const std::map<int, PodUse>& pods) {
  double total = 0;
  for (const auto& [index, use] : pods) {
    if (!use.utilization.has_value()) return std::nullopt;
    total += *use.utilization;
  }
  return total > 0 ? std::optional(total) : std::nullopt;
}

}  // namespace

void AddHolders(const ExporterDevice& device, NodeSnapshot& snapshot, GpuSample& gpu) {
  std::map<int, PodUse> pods;
  for (const ExporterHolder& holder : device.holders) {
    const int index = PodIndexOf(holder, snapshot);
    gpu.holders.push_back({.pod = index, .container = holder.container});
    PodUse& use = pods[index];
    ++use.containers;
    use.utilization = holder.utilization;
  }
  const std::optional<double> total = TotalUse(pods);
  for (GpuHolder& holder : gpu.holders) {
    const PodUse& use = pods.at(holder.pod);
    const double of_pod =
        total.has_value() ? *use.utilization / *total : 1.0 / static_cast<double>(pods.size());
    holder.share = of_pod / use.containers;
  }
}

}  // namespace gpuscaler
