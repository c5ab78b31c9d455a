#include "scaling/idle_fast_path.h"

#include <algorithm>
#include <iterator>

#include "scaling/scope.h"
#include "trigger/trigger_source.h"

namespace gpuscaler {
namespace {

bool MayStayIdle(const Trigger& trigger, const FleetHistory& fleet, const Decision& decision) {
  const bool by_owner = trigger.scope == Scope::kWorkload && fleet.queries_kubelets;
  const bool of_gpus_alone = InfoOf(trigger.metric).origin == MetricOrigin::kGpu &&
                             !decision.by_engines && !CountsHeldRequests(trigger);
  return of_gpus_alone && by_owner && decision.status.ok() && !decision.active &&
         decision.starting == 0 && decision.terminating == 0;
}

// Summed GPUs may exceed the threshold together, so each must be at 0.
double ThresholdOfEach(const Trigger& trigger) {
  return trigger.aggregation == Aggregation::kSum ? 0 : trigger.activation_threshold;
}

const std::shared_ptr<const NodeLayout>& OldestLayout(const NodeHistory& history) {
  return history.past_layouts.empty() ? history.runs.front().layout()
                                      : history.past_layouts.front().layout;
}

// Returns whether each replica has held the same GPUs throughout the look-back.
bool HasConstantLayout(const NodeHistory& history, absl::Time oldest) {
  const auto& runs = history.runs;
  for (size_t i = runs.size(); i-- > 0 && runs[i].last >= oldest;) {
    if (runs[i].layout() != runs.back().layout()) return false;
  }
  return true;
}

// Returns true if the kubelet reports readiness, or without warmupSeconds. Otherwise a start
// depends on when each process got its GPU.
bool StaysStarted(const Trigger& trigger, const NodeLayout& layout, const NodeLayout::Gpu& gpu) {
  return trigger.warmup == absl::ZeroDuration() ||
         std::ranges::all_of(gpu.holders, [&layout](const GpuHolder& holder) {
           return layout.pods[static_cast<size_t>(holder.pod)].ready.has_value();
         });
}

}  // namespace

IdleFastPath::IdleFastPath(const Trigger& trigger, const StalenessLimits& staleness)
    : reading_(InfoOf(trigger.metric).reading),
      threshold_(static_cast<float>(ThresholdOfEach(trigger))),
      activation_window_(trigger.activation_window),
      stale_after_(staleness.stale_after),
      evaluates_preallocated_memory_(EvaluatesPreallocatedMemory(trigger)),
      idle_until_(absl::InfiniteFuture()) {}

std::optional<IdleFastPath> IdleFastPath::Of(const Trigger& trigger, const FleetHistory& fleet,
                                             const StalenessLimits& staleness,
                                             const Decision& decision) {
  if (!MayStayIdle(trigger, fleet, decision)) return std::nullopt;
  IdleFastPath idle(trigger, staleness);
  // Memory becomes steady by time alone.
  if (idle.evaluates_preallocated_memory_) idle.idle_until_ = decision.active_while_read;
  idle.cursors_.reserve(fleet.nodes.size());
  for (const NodeState& state : fleet.nodes) {
    const NodeRun& newest = state.history->runs.back();
    idle.cursors_.push_back({.run_begin = newest.first,
                             .layout = newest.layout(),
                             .oldest_layout = OldestLayout(*state.history)});
  }
  for (const Contribution& contribution : decision.contributions) {
    if (!idle.AddReplica(trigger, fleet, contribution)) return std::nullopt;
  }
  const absl::Time oldest = OldestLookedAt(trigger, fleet.now, staleness);
  for (size_t i = 0; i < fleet.nodes.size(); ++i) {
    if (idle.cursors_[i].gpu_indices.empty()) continue;
    if (!HasConstantLayout(*fleet.nodes[i].history, oldest)) return std::nullopt;
  }
  return idle;
}

bool IdleFastPath::AddReplica(const Trigger& trigger, const FleetHistory& fleet,
                              const Contribution& contribution) {
  if (contribution.nodes.size() != 1) return false;
  const auto state = std::ranges::find(fleet.nodes, contribution.nodes.front(), &NodeState::node);
  NodeCursor& cursor = cursors_[static_cast<size_t>(state - fleet.nodes.begin())];
  return std::ranges::all_of(contribution.gpus, [&](const std::string& uuid) {
    return AddGpu(trigger, uuid, *state->history, cursor);
  });
}

bool IdleFastPath::AddGpu(const Trigger& trigger, const std::string& uuid,
                          const NodeHistory& history, NodeCursor& cursor) const {
  const NodeRun& newest = history.runs.back();
  const NodeLayout& layout = *newest.layout();
  const int found = PositionOf(layout.gpus, uuid, 0);
  if (found < 0) return false;
  const size_t index = static_cast<size_t>(found);
  cursor.gpu_indices.push_back(static_cast<uint32_t>(index));
  if (evaluates_preallocated_memory_) {
    cursor.memory.push_back(history.Newest().gpus[index].steady_memory);
  }
  const NodeLayout::Gpu& gpu = layout.gpus[index];
  if (std::ranges::any_of(gpu.holders, &GpuHolder::is_possible)) return false;
  return gpu.parent_uuid.empty() && StaysStarted(trigger, layout, gpu) &&
         newest.point(index).Value(reading_).has_value();
}

std::optional<absl::Time> IdleFastPath::InactiveUntil(const FleetHistory& fleet) {
  if (fleet.nodes.size() != cursors_.size() || !fleet.queries_kubelets) return std::nullopt;
  if (fleet.now >= idle_until_) return std::nullopt;
  absl::Time until = std::min(fleet.valid_until, idle_until_);
  for (size_t i = 0; i < cursors_.size(); ++i) {
    const NodeState& state = fleet.nodes[i];
    if (!Continues(state, fleet.now, cursors_[i])) return std::nullopt;
    if (cursors_[i].gpu_indices.empty()) continue;
    until = std::min(until, state.history->NewestAt() + stale_after_);
  }
  return until;
}

// Pods and holders are unchanged, and new readings of each GPU follow the last one without a gap.
// Then no replica begins or ends its start, or goes, and each is read and covered as before.
bool IdleFastPath::Continues(const NodeState& state, absl::Time now, NodeCursor& cursor) const {
  const NodeHistory& history = *state.history;
  if (OldestLayout(history) != cursor.oldest_layout) return false;
  if (!cursor.gpu_indices.empty() && !IsRead(state, now)) return false;
  const std::vector<NodeRun>& runs = history.runs;
  auto last = std::ranges::lower_bound(runs, cursor.run_begin, {}, &NodeRun::first);
  if (last == runs.end() || last->first != cursor.run_begin) return false;
  for (auto next = std::next(last); next != runs.end(); last = next++) {
    if (next->layout() != cursor.layout) return false;
    if (cursor.gpu_indices.empty()) continue;
    const bool follows = next->first - last->last <= stale_after_;
    if (!follows || !StaysInactive(*next, *last, cursor)) return false;
  }
  cursor.run_begin = runs.back().first;
  return IsSameMemory(history, cursor);
}

// Returns true if readings are valid now and cover activationWindow.
bool IdleFastPath::IsRead(const NodeState& state, absl::Time now) const {
  const NodeHistory& history = *state.history;
  return state.why_disconnected.empty() && state.disputed.empty() &&
         now - history.NewestAt() <= stale_after_ &&
         history.runs.front().first <= now - activation_window_;
}

bool IdleFastPath::StaysInactive(const NodeRun& run, const NodeRun& before,
                                 const NodeCursor& cursor) const {
  if (run.has_shares()) return false;
  return std::ranges::all_of(cursor.gpu_indices, [&](uint32_t gpu) {
    if (evaluates_preallocated_memory_) return run.point(gpu) == before.point(gpu);
    const std::optional<double> value = run.point(gpu).Value(reading_);
    return value && static_cast<float>(*value) <= threshold_;
  });
}

bool IdleFastPath::IsSameMemory(const NodeHistory& history, const NodeCursor& cursor) {
  for (size_t i = 0; i < cursor.memory.size(); ++i) {
    SteadyMemory memory = history.Newest().gpus[cursor.gpu_indices[i]].steady_memory;
    memory.current.until = cursor.memory[i].current.until;
    if (memory != cursor.memory[i]) return false;
  }
  return true;
}

size_t IdleFastPath::size_bytes() const {
  size_t bytes = sizeof(*this) + cursors_.capacity() * sizeof(NodeCursor);
  for (const NodeCursor& cursor : cursors_) {
    bytes += cursor.gpu_indices.capacity() * sizeof(uint32_t) +
             cursor.memory.capacity() * sizeof(SteadyMemory);
  }
  return bytes;
}

}  // namespace gpuscaler
