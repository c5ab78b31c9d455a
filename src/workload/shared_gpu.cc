#include "workload/shared_gpu.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace gpuscaler {
namespace {

// What each pod's processes used; empty where that is not known of all.
std::optional<std::vector<double>> UsedBy(absl::Span<const std::string> pods,
                                          absl::Span<const GpuProcess> processes,
                                          const PodOfProcess& pod_of_process) {
  std::vector<double> used(pods.size(), 0);
  for (const GpuProcess& process : processes) {
    if (!process.utilization_percent) return std::nullopt;
    if (*process.utilization_percent <= 0) continue;
    const std::string name = pod_of_process(process.pid);
    const auto pod = std::ranges::find(pods, name);
    if (name.empty() || pod == pods.end()) return std::nullopt;
    used[pod - pods.begin()] += *process.utilization_percent;
  }
  return used;
}

}  // namespace

std::vector<double> SharesOf(const GpuSample& gpu, absl::Span<const std::string> pods,
                             const PodOfProcess& pod_of_process) {
  std::vector<double> equal(pods.size(), 1.0 / static_cast<double>(pods.size()));
  if (pods.size() < 2 || !gpu.processes) return equal;
  auto used = UsedBy(pods, *gpu.processes, pod_of_process);
  if (!used) return equal;
  const double total = std::accumulate(used->begin(), used->end(), 0.0);
  if (total <= 0) return equal;
  for (double& share : *used) share /= total;
  return *std::move(used);
}

}  // namespace gpuscaler
