#include "workload/shared_gpu.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace gpuscaler {
namespace {

// Returns the utilization by each pod's processes; empty if that of any is unknown.
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

// Empty: a pod has requested no part.
std::optional<std::vector<double>> RequestedParts(absl::Span<const GpuRequest> requests,
                                                  const GpuSample& gpu) {
  constexpr double kMib = 1 << 20;
  const double total_mib = static_cast<double>(gpu.memory_total_bytes.value_or(0)) / kMib;
  std::vector<double> requested;
  for (const GpuRequest& request : requests) {
    if (request.fraction) {
      requested.push_back(*request.fraction);
    } else if (request.memory_mib && total_mib > 0) {
      requested.push_back(*request.memory_mib / total_mib);
    } else {
      return std::nullopt;
    }
  }
  return requested;
}

// The parts add up to 1. Empty: all are 0.
std::optional<std::vector<double>> Normalized(std::optional<std::vector<double>> parts) {
  if (!parts) return std::nullopt;
  const double total = std::accumulate(parts->begin(), parts->end(), 0.0);
  if (total <= 0) return std::nullopt;
  for (double& part : *parts) part /= total;
  return parts;
}

}  // namespace

std::pair<std::vector<double>, SharedBy> SharesOf(const GpuSample& gpu,
                                                  absl::Span<const std::string> pods,
                                                  absl::Span<const GpuRequest> requests,
                                                  const PodOfProcess& pod_of_process) {
  if (pods.size() >= 2 && gpu.processes) {
    const auto shares = Normalized(UsedBy(pods, *gpu.processes, pod_of_process));
    if (shares) return {*shares, SharedBy::kProcesses};
  }
  if (const auto shares = Normalized(RequestedParts(requests, gpu))) {
    return {*shares, SharedBy::kParts};
  }
  return {std::vector<double>(pods.size(), 1.0 / static_cast<double>(pods.size())),
          SharedBy::kEqually};
}

}  // namespace gpuscaler
