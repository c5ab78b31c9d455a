#include "scaling/gpu_blocks.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "scaling/replica_reader.h"
#include "scaling/scope.h"

namespace gpuscaler {
namespace {

using Block = std::span<const GpuSeries>;

// A GPU that is gone is a block by itself.
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

std::string NameOf(Block block) {
  const std::string& first = block.front().name;
  if (block.size() == 1) return first;
  const std::string& last = block.back().name;
  return absl::StrCat(first, "-", last.substr(last.rfind('/') + 1));
}

bool IsReadable(const GpuSeries& gpu, GpuReading reading, const ScopedFleet& scoped,
                absl::Duration stale_after) {
  const NodeView& view = scoped.nodes[gpu.node];
  if (!view.why_stale.empty()) return false;
  for (size_t i = view.runs.size(); i-- > 0 && scoped.now - view.EndOf(i) <= stale_after;) {
    if (gpu.points[i].exists() && gpu.points[i].Value(reading)) return true;
  }
  return false;
}

std::string WhyUnreadable(const GpuSeries& gpu, GpuField field, const ScopedFleet& scoped) {
  const NodeView& view = scoped.nodes[gpu.node];
  if (!view.why_stale.empty()) return view.why_stale;
  const GpuGap* const gap = FindGap(view.Gpus()[static_cast<size_t>(gpu.position)], field);
  return gap == nullptr ? "" : absl::StrCat(gpu.name, " ", Why(*gap));
}

// Returns why a block as a whole has no value.
std::string WhyUnusedUnreadable(Block block, const MetricTypeInfo& metric,
                                const ScopedFleet& scoped, absl::Duration stale_after) {
  const auto unread = std::ranges::find_if(block, [&](const GpuSeries& gpu) {
    return !IsReadable(gpu, metric.reading, scoped, stale_after);
  });
  if (unread == block.end()) return absl::StrCat(NameOf(block), " was not read at one time");
  const std::string why = WhyUnreadable(*unread, FieldOf(metric.reading), scoped);
  return why.empty() ? absl::StrCat(unread->name, " has no ", metric.name) : why;
}

// If no present GPU is readable, whether one is in use is not known either.
absl::Status CheckAnyReadable(const Trigger& trigger, const ScopedFleet& scoped,
                              absl::Duration stale_after) {
  const MetricTypeInfo& metric = InfoOf(trigger.metric);
  bool any_present = false;
  std::string why;
  for (const GpuSeries& gpu : scoped.gpus) {
    if (!gpu.present()) continue;
    if (IsReadable(gpu, metric.reading, scoped, stale_after)) return absl::OkStatus();
    any_present = true;
    if (why.empty()) why = WhyUnreadable(gpu, FieldOf(metric.reading), scoped);
  }
  if (!any_present) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("no GPU can be read for ", metric.name, why.empty() ? "" : ": ", why));
}

}  // namespace

absl::StatusOr<Replicas> ReplicasInUse(const DecisionInputs& inputs) {
  const Trigger& trigger = inputs.trigger;
  const StalenessLimits& staleness = inputs.staleness;
  ASSIGN_OR_RETURN(const ScopedFleet scoped, ScopeOf(trigger, inputs.fleet, staleness));
  Replicas workload_replicas{.from = "GPUs in use"};
  std::vector<Replica> gone;
  bool any_present = false;
  for (const Block block : BlocksOf(trigger, scoped)) {
    const NodeView& view = scoped.nodes[block.front().node];
    const Replica common{.name = NameOf(block),
                         .nodes = {view.name()},
                         .why_stale = view.why_stale,
                         .covered_since = view.covered_since,
                         .dropped_until = view.state->history->dropped_until};
    ReplicaReader reader(trigger, scoped.nodes, staleness, block, common, std::nullopt);
    bool held = false;
    for (Replica& replica : reader.Read()) {
      held |= replica.present;
      (replica.present ? workload_replicas.replicas : gone).push_back(std::move(replica));
    }
    any_present |= held;
    if (held || !block.front().present()) continue;
    Contribution& unused = workload_replicas.unused.emplace_back();
    unused.name = common.name;
    unused.gpus = UuidsOf(block);
    unused.state = Contribution::State::kUnused;
    unused.load = reader.MetricAt(scoped.now);
    if (unused.load) continue;
    unused.because =
        WhyUnusedUnreadable(block, InfoOf(trigger.metric), scoped, staleness.stale_after);
  }
  std::ranges::move(gone, std::back_inserter(workload_replicas.replicas));
  if (!any_present)
    workload_replicas.zero_status = CheckAnyReadable(trigger, scoped, staleness.stale_after);
  return workload_replicas;
}

}  // namespace gpuscaler
