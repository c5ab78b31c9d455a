#include "workload/shared_gpu.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace gpuscaler {
namespace {

// What each pod's processes used; empty where that is not known of all.
std::optional<std::vector<double>> UsedBy(absl::Span<const std::string> pod_uids,
                                          absl::Span<const GpuProcess> processes,
                                          const PodOfProcess& pod_of_process) {
  std::vector<double> used(pod_uids.size(), 0);
  for (const GpuProcess& process : processes) {
    if (!process.utilization_percent) return std::nullopt;
    if (*process.utilization_percent <= 0) continue;
    const std::string uid = pod_of_process(process.pid);
    const auto pod = std::ranges::find(pod_uids, uid);
    if (uid.empty() || pod == pod_uids.end()) return std::nullopt;
    used[pod - pod_uids.begin()] += *process.utilization_percent;
  }
  return used;
}

}  // namespace

std::vector<double> SharesOf(const GpuSample& gpu, absl::Span<const std::string> pod_uids,
                             const PodOfProcess& pod_of_process) {
  std::vector<double> equal(pod_uids.size(), 1.0 / static_cast<double>(pod_uids.size()));
  if (pod_uids.size() < 2 || !gpu.processes) return equal;
  auto used = UsedBy(pod_uids, *gpu.processes, pod_of_process);
  if (!used) return equal;
  const double total = std::accumulate(used->begin(), used->end(), 0.0);
  if (total <= 0) return equal;
  for (double& share : *used) share /= total;
  return *std::move(used);
}

}  // namespace gpuscaler
