#include "workload/holding.h"

#include <algorithm>
#include <utility>

namespace gpuscaler {
namespace {

// A driver with a display or an idle context keeps some hundred MiB: not a workload's.
constexpr double kInUseMemoryPercent = 3;

std::set<int64_t> Pids(const GpuSample& gpu) {
  std::set<int64_t> pids;
  if (!gpu.processes) return pids;
  for (const GpuProcess& process : *gpu.processes) pids.insert(process.pid);
  return pids;
}

bool Replaced(const std::set<int64_t>& before, const std::set<int64_t>& now) {
  return !before.empty() && !now.empty() &&
         std::ranges::none_of(now, [&](int64_t pid) { return before.contains(pid); });
}

}  // namespace

std::optional<bool> InUse(const GpuSample& gpu) {
  const std::optional<double> memory = MemoryUsedPercent(gpu);
  if (gpu.processes && !gpu.processes->empty()) return true;
  if (gpu.utilization_percent.value_or(0) > 0) return true;
  if (memory.value_or(0) > kInUseMemoryPercent) return true;
  if (!gpu.processes && !gpu.utilization_percent && !memory) return std::nullopt;
  return false;
}

HoldingTracker::Holding HoldingTracker::Before(const std::string& uuid, absl::Time now) const {
  if (const auto found = holdings_.find(uuid); found != holdings_.end()) return found->second;
  Holding unseen;
  unseen.since = first_ ? absl::InfinitePast() : now;
  return unseen;
}

void HoldingTracker::Annotate(NodeSnapshot& snapshot) {
  std::map<std::string, Holding> holdings;
  for (GpuSample& gpu : snapshot.gpus) {
    Holding holding = Before(gpu.uuid, snapshot.taken_at);
    const std::set<int64_t> pids = Pids(gpu);
    const std::optional<bool> in_use = InUse(gpu);
    if (in_use.value_or(false) && holding.known &&
        (!holding.in_use || Replaced(holding.pids, pids))) {
      holding.since = snapshot.taken_at;
    }
    if (in_use) {
      holding.in_use = *in_use;
      holding.known = true;
    }
    if (!pids.empty() || !holding.in_use) holding.pids = pids;
    gpu.in_use = holding.in_use;
    gpu.held_since = holding.since;
    holdings.emplace(gpu.uuid, std::move(holding));
  }
  holdings_ = std::move(holdings);
  first_ = false;
}

}  // namespace gpuscaler
