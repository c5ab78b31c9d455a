#include "workload/holding.h"

#include <algorithm>
#include <utility>

#include "workload/gpu_holders.h"

namespace gpuscaler {
namespace {

// Memory that a driver uses for a display or an idle context: some hundred MiB, without a workload.
constexpr double kInUseMemoryPercent = 3;

// How long a GPU may be missing: while the driver is reloaded, or a slot is reset.
constexpr absl::Duration kMaxMissing = absl::Minutes(10);

std::set<int64_t> Pids(const GpuSample& gpu) {
  std::set<int64_t> pids;
  if (!gpu.processes) return pids;
  for (const GpuProcess& process : *gpu.processes) pids.insert(process.pid);
  return pids;
}

std::set<std::string> Pods(const GpuSample& gpu, const NodeSnapshot& snapshot) {
  std::set<std::string> pods;
  for (const GpuHolder& holder : gpu.holders) pods.insert(NameOf(snapshot.pods[holder.pod]));
  return pods;
}

template <typename T>
bool Replaced(const std::set<T>& before, const std::set<T>& now) {
  return !before.empty() && !now.empty() &&
         std::ranges::none_of(now, [&](const T& each) { return before.contains(each); });
}

// Returns every field that shows use.
std::set<GpuField> Signs(const GpuSample& gpu) {
  std::set<GpuField> signs;
  if (gpu.processes && !gpu.processes->empty()) signs.insert(GpuField::kProcesses);
  if (gpu.utilization_percent.value_or(0) > 0) signs.insert(GpuField::kUtilization);
  if (MemoryUsedPercent(gpu).value_or(0) > kInUseMemoryPercent) signs.insert(GpuField::kMemory);
  return signs;
}

bool AnyFailed(const GpuSample& gpu, const std::set<GpuField>& fields) {
  return std::ranges::any_of(fields, [&gpu](GpuField field) {
    const GpuGap* const gap = FindGap(gpu, field);
    return gap != nullptr && gap->reason == GpuGap::Reason::kFailed;
  });
}

}  // namespace

std::optional<bool> InUse(const GpuSample& gpu) {
  if (!Signs(gpu).empty()) return true;
  if (!gpu.processes && !gpu.utilization_percent && !MemoryUsedPercent(gpu)) return std::nullopt;
  return false;
}

// A GPU that could never be read, not even its uuid, and now has a uuid is not new, nor are its MIG
// instances.
HoldingTracker::Holding HoldingTracker::Before(const GpuSample& gpu,
                                               const NodeSnapshot& snapshot) const {
  if (const auto found = holdings_.find(gpu.uuid); found != holdings_.end()) return found->second;
  for (const auto& [uuid, holding] : holdings_) {
    const bool is_there_still =
        std::ranges::find(snapshot.gpus, uuid, &GpuSample::uuid) != snapshot.gpus.end();
    if (!holding.known && !is_there_still && holding.index == gpu.index) return holding;
  }
  Holding fresh;
  fresh.since = first_ ? absl::InfinitePast() : snapshot.taken_at;
  fresh.index = gpu.index;
  return fresh;
}

void HoldingTracker::Update(const GpuSample& gpu, const NodeSnapshot& snapshot, Holding& holding) {
  const std::set<GpuField> signs = Signs(gpu);
  const std::set<int64_t> pids = Pids(gpu);
  const std::set<std::string> pods = Pods(gpu, snapshot);
  if (!signs.empty()) {
    const bool is_new =
        !holding.in_use || Replaced(holding.pids, pids) || Replaced(holding.pods, pods);
    if (is_new && holding.known) holding.since = snapshot.taken_at;
    holding.in_use = true;
    holding.signs = signs;
  } else if (InUse(gpu).has_value() && !AnyFailed(gpu, holding.signs)) {
    holding.in_use = false;
    holding.signs.clear();
  }
  holding.known = holding.known || InUse(gpu).has_value();
  if (!pids.empty() || !holding.in_use) holding.pids = pids;
  if (!pods.empty() || !holding.in_use) holding.pods = pods;
}

void HoldingTracker::Annotate(NodeSnapshot& snapshot) {
  std::map<std::string, Holding> holdings;
  for (GpuSample& gpu : snapshot.gpus.Own()) {
    Holding holding = Before(gpu, snapshot);
    Update(gpu, snapshot, holding);
    gpu.in_use = holding.in_use;
    gpu.held_since = holding.since;
    holding.seen_at = snapshot.taken_at;
    holdings.emplace(gpu.uuid, std::move(holding));
  }
  for (auto& [uuid, missing] : holdings_) {
    const bool kept = missing.known && snapshot.taken_at - missing.seen_at <= kMaxMissing;
    if (kept) holdings.try_emplace(uuid, std::move(missing));
  }
  holdings_ = std::move(holdings);
  first_ = false;
  memory_.Annotate(snapshot);
}

}  // namespace gpuscaler
