#include "scaling/quiet_workload.h"

#include <algorithm>

#include "scaling/scope.h"

namespace gpuscaler {
namespace {

bool MayStayQuiet(const Trigger& trigger, const FleetHistory& fleet, const Decision& decision) {
  const bool by_owner = trigger.scope == Scope::kWorkload && fleet.asks_kubelets;
  const bool of_gpus_alone =
      InfoOf(trigger.metric).origin == MetricOrigin::kGpu && !decision.by_engines;
  return of_gpus_alone && by_owner && decision.status.ok() && !decision.active &&
         decision.warming == 0;
}

// A replica is not above the threshold if none of its GPUs is, but their sum may be.
double ThresholdOfEach(const Trigger& trigger) {
  return trigger.aggregation == Aggregation::kSum ? std::min(trigger.activation_threshold, 0.0)
                                                  : trigger.activation_threshold;
}

const std::shared_ptr<const NodeLayout>& OldestLayout(const NodeHistory& history) {
  return history.past_layouts.empty() ? history.stretches.front().layout()
                                      : history.past_layouts.front().layout;
}

// For as long as is looked back on: each replica there has always been, with these GPUs.
bool HeldAllAlong(const NodeHistory& history, absl::Time oldest) {
  const auto& stretches = history.stretches;
  for (size_t i = stretches.size(); i-- > 0 && stretches[i].last >= oldest;) {
    if (stretches[i].layout() != stretches.back().layout()) return false;
  }
  return true;
}

// By the kubelet, or at once: else it takes the time since when each process holds its GPU.
bool IsWarmForGood(const Trigger& trigger, const NodeLayout& layout, const NodeLayout::Gpu& gpu) {
  return trigger.warmup == absl::ZeroDuration() ||
         std::ranges::all_of(gpu.holders, [&layout](const GpuHolder& holder) {
           return layout.pods[static_cast<size_t>(holder.pod)].ready.has_value();
         });
}

bool Shows(const KeptPoint& kept, const GpuPoint& point) {
  if (kept.in_use() != point.in_use() || kept.held_since() != point.held_since()) return false;
  for (size_t i = 0; i < kGpuReadings; ++i) {
    const GpuReading reading = static_cast<GpuReading>(i);
    if (kept.Has(reading) != point.Has(reading)) return false;
    if (kept.Value(reading) != point.Value(reading)) return false;
  }
  return true;
}

}  // namespace

QuietWorkload::QuietWorkload(const Trigger& trigger, const Patience& patience)
    : reading_(InfoOf(trigger.metric).reading),
      threshold_(static_cast<float>(ThresholdOfEach(trigger))),
      activation_window_(trigger.activation_window),
      stale_after_(patience.stale_after),
      values_standing_memory_(ValuesStandingMemory(trigger)),
      stands_until_(absl::InfiniteFuture()) {}

std::optional<QuietWorkload> QuietWorkload::Of(const Trigger& trigger, const FleetHistory& fleet,
                                               const Patience& patience, const Decision& decision) {
  if (!MayStayQuiet(trigger, fleet, decision)) return std::nullopt;
  QuietWorkload quiet(trigger, patience);
  // Memory begins to stand by time alone.
  if (quiet.values_standing_memory_) quiet.stands_until_ = decision.active_while_read;
  quiet.marks_.reserve(fleet.nodes.size());
  for (const NodeTrack& track : fleet.nodes) quiet.marks_.push_back(quiet.MarkOf(track));
  for (const ReplicaShare& share : decision.shares) {
    if (!quiet.AddReplica(trigger, fleet, share)) return std::nullopt;
  }
  const absl::Time oldest = OldestLookedAt(trigger, fleet.now, patience);
  for (size_t i = 0; i < fleet.nodes.size(); ++i) {
    if (!quiet.marks_[i].has_replicas) continue;
    if (!HeldAllAlong(*fleet.nodes[i].history, oldest)) return std::nullopt;
  }
  return quiet;
}

QuietWorkload::Mark QuietWorkload::MarkOf(const NodeTrack& track) const {
  const NodeHistory& history = *track.history;
  const NodeStretch& newest = history.stretches.back();
  return {.first = newest.first, .layout = newest.layout(), .oldest_layout = OldestLayout(history)};
}

bool QuietWorkload::AddReplica(const Trigger& trigger, const FleetHistory& fleet,
                               const ReplicaShare& share) {
  if (share.nodes.size() != 1) return false;
  const auto track = std::ranges::find(fleet.nodes, share.nodes.front(), &NodeTrack::node);
  Mark& mark = marks_[static_cast<size_t>(track - fleet.nodes.begin())];
  mark.has_replicas = true;
  return std::ranges::all_of(share.gpus, [&](const std::string& uuid) {
    return AddGpu(trigger, uuid, *track->history, mark);
  });
}

bool QuietWorkload::AddGpu(const Trigger& trigger, const std::string& uuid,
                           const NodeHistory& history, Mark& mark) const {
  const NodeStretch& newest = history.stretches.back();
  const NodeLayout& layout = *newest.layout();
  const int found = PositionOf(layout.gpus, uuid, 0);
  if (found < 0) return false;
  const size_t place = static_cast<size_t>(found);
  mark.places.push_back(static_cast<uint32_t>(place));
  if (values_standing_memory_) {
    mark.shown.emplace_back(history.Newest().gpus[place]);
    mark.memory.push_back(history.Newest().gpus[place].still_memory.parts());
  }
  const NodeLayout::Gpu& gpu = layout.gpus[place];
  return gpu.parent_uuid.empty() && IsWarmForGood(trigger, layout, gpu) &&
         newest.points()[place].Value(reading_).has_value();
}

std::optional<absl::Time> QuietWorkload::StandsOn(const FleetHistory& fleet) {
  if (fleet.nodes.size() != marks_.size() || !fleet.asks_kubelets) return std::nullopt;
  if (fleet.now >= stands_until_) return std::nullopt;
  absl::Time until = std::min(fleet.stands_until, stands_until_);
  for (size_t i = 0; i < marks_.size(); ++i) {
    const NodeTrack& track = fleet.nodes[i];
    if (!Continues(track, fleet.now, marks_[i])) return std::nullopt;
    if (marks_[i].has_replicas) until = std::min(until, track.history->NewestAt() + stale_after_);
  }
  return until;
}

// Who holds what, and did, is as it was, and what is new is a reading of each GPU, soon after the
// one before. Then no replica comes, goes or gets warm, and each is read and covered as before.
bool QuietWorkload::Continues(const NodeTrack& track, absl::Time now, Mark& mark) const {
  const NodeHistory& history = *track.history;
  if (OldestLayout(history) != mark.oldest_layout) return false;
  if (mark.has_replicas && !IsRead(track, now)) return false;
  const std::vector<NodeStretch>& stretches = history.stretches;
  for (size_t i = stretches.size(); i-- > 0;) {
    const NodeStretch& stretch = stretches[i];
    if (stretch.first == mark.first) {
      mark.first = stretches.back().first;
      return IsSameMemory(history, mark);
    }
    if (i == 0 || stretch.layout() != mark.layout) return false;
    if (!mark.has_replicas) continue;
    const bool follows = stretch.first - stretches[i - 1].last <= stale_after_;
    if (!follows || !SaysNothingNew(stretch.points(), mark)) return false;
  }
  return false;
}

// Now, and as far back as matters.
bool QuietWorkload::IsRead(const NodeTrack& track, absl::Time now) const {
  const NodeHistory& history = *track.history;
  return track.silence.empty() && now - history.NewestAt() <= stale_after_ &&
         history.stretches.front().first <= now - activation_window_;
}

bool QuietWorkload::SaysNothingNew(const KeptPoints& points, const Mark& mark) const {
  if (points.has_shares()) return false;
  for (size_t i = 0; i < mark.places.size(); ++i) {
    const KeptPoint point = points[mark.places[i]];
    if (values_standing_memory_) {
      if (!Shows(point, mark.shown[i])) return false;
      continue;
    }
    const std::optional<double> value = point.Value(reading_);
    if (!value || static_cast<float>(*value) > threshold_) return false;
  }
  return true;
}

bool QuietWorkload::IsSameMemory(const NodeHistory& history, const Mark& mark) {
  for (size_t i = 0; i < mark.memory.size(); ++i) {
    StillMemory::Parts now = history.Newest().gpus[mark.places[i]].still_memory.parts();
    now.current.until = mark.memory[i].current.until;
    if (now != mark.memory[i]) return false;
  }
  return true;
}

size_t QuietWorkload::size_bytes() const {
  size_t bytes = sizeof(*this) + marks_.capacity() * sizeof(Mark);
  for (const Mark& mark : marks_) {
    bytes += mark.places.capacity() * sizeof(uint32_t) + mark.shown.capacity() * sizeof(GpuPoint) +
             mark.memory.capacity() * sizeof(StillMemory::Parts);
  }
  return bytes;
}

}  // namespace gpuscaler
