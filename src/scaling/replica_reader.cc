#include "scaling/replica_reader.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "scaling/aggregate.h"

namespace gpuscaler {

absl::Time Bridge::Oldest() const { return std::ranges::min_element(last_, {}, &Reading::at)->at; }

std::optional<double> Bridge::Together(Aggregation aggregation, absl::Time at) const {
  if (at - Oldest() > stale_after_) return std::nullopt;
  if (last_.size() == 1) return last_.front().value;  // no allocation where it is the rule
  std::vector<double> values;
  values.reserve(last_.size());
  for (const Reading& reading : last_) values.push_back(reading.value);
  return Aggregate(aggregation, std::move(values));
}

bool Bridge::AnyAboveZero(absl::Time at) const {
  return std::ranges::any_of(last_, [&](const Reading& reading) {
    return reading.value > 0 && at - reading.at <= stale_after_;
  });
}

ReplicaReader::ReplicaReader(const Trigger& trigger, const ScopedFleet& scoped,
                             const Patience& patience, std::span<const GpuSeries> gpus)
    : trigger_(trigger),
      metric_(InfoOf(trigger.metric)),
      scoped_(scoped),
      gpus_(gpus),
      view_(scoped.nodes[gpus.front().node]),
      walk_(scoped.nodes, {gpus.front().node}),
      values_(gpus.size(), patience.stale_after),
      utilization_(gpus.size(), patience.stale_after) {}

std::vector<Replica> ReplicaReader::Read() {
  const size_t moments = walk_.moments().size();
  for (size_t moment = 0; moment < moments; ++moment) {
    const ReplicaSample sample = ReadMoment(moment);
    const std::optional<absl::Time> since = HeldSince(moment);
    if (!since) {
      held_ = false;
      continue;
    }
    if (!held_ || replicas_.back().held_since != *since) {
      Begin(*since);
      replicas_.back().samples.reserve(moments - moment);
    }
    replicas_.back().samples.push_back(sample);
    last_held_.back() = moment;
  }
  if (held_) replicas_.back().present = true;
  for (size_t i = 0; i < replicas_.size(); ++i) {
    for (size_t gpu = 0; gpu < gpus_.size(); ++gpu) {
      if (PointAt(gpu, last_held_[i]) == nullptr) continue;
      replicas_[i].still_memory.push_back(StillMemoryAt(gpu, last_held_[i], replicas_[i].present));
    }
  }
  return std::move(replicas_);
}

std::optional<double> ReplicaReader::Newest() const {
  return view_.mute.empty() ? values_.Together(trigger_.aggregation, scoped_.now) : std::nullopt;
}

std::string ReplicaReader::Name() const {
  const std::string& first = gpus_.front().name;
  if (gpus_.size() == 1) return first;
  const std::string& last = gpus_.back().name;
  return absl::StrCat(first, "-", last.substr(last.rfind('/') + 1));
}

std::vector<std::string> ReplicaReader::Uuids() const {
  std::vector<std::string> uuids;
  for (const GpuSeries& gpu : gpus_) uuids.push_back(gpu.uuid);
  return uuids;
}

const GpuPoint* ReplicaReader::PointAt(size_t gpu, size_t moment) const {
  const int stretch = walk_.steps(0)[moment].stretch;
  return stretch < 0 ? nullptr : gpus_[gpu].points[static_cast<size_t>(stretch)];
}

// None while no GPU of the block is in use.
std::optional<absl::Time> ReplicaReader::HeldSince(size_t moment) const {
  std::optional<absl::Time> since;
  for (size_t gpu = 0; gpu < gpus_.size(); ++gpu) {
    const GpuPoint* const point = PointAt(gpu, moment);
    if (point == nullptr || !point->in_use()) continue;
    since = std::min(since.value_or(absl::InfiniteFuture()), point->held_since());
  }
  return since;
}

ReplicaSample ReplicaReader::ReadMoment(size_t moment) {
  const Moment& now = walk_.moments()[moment];
  for (size_t gpu = 0; gpu < gpus_.size(); ++gpu) {
    const GpuPoint* const point = PointAt(gpu, moment);
    if (point == nullptr) continue;
    const absl::Time read_at = walk_.steps(0)[moment].read_at;
    values_.Read(gpu, read_at, point->Value(metric_.reading));
    utilization_.Read(gpu, read_at, point->Value(GpuReading::kUtilization));
  }
  return {.since = now.since,
          .at = now.at,
          .metric = values_.Together(trigger_.aggregation, now.at),
          .utilization = utilization_.Together(trigger_.aggregation, now.at),
          .busy = utilization_.AnyAboveZero(now.at),
          .metric_read_at = values_.Oldest(),
          .utilization_read_at = utilization_.Oldest()};
}

void ReplicaReader::Begin(absl::Time since) {
  held_ = true;
  replicas_.push_back({.name = Name(),
                       .gpu_uuids = Uuids(),
                       .held_since = since,
                       .last_gap = GapText(),
                       .mute = view_.mute,
                       .covered_since = view_.covered_since});
  last_held_.push_back(0);
}

// Of the holder at that moment: one that has left has taken it along.
StillMemory ReplicaReader::StillMemoryAt(size_t gpu, size_t moment, bool present) const {
  const GpuSeries& series = gpus_[gpu];
  const NodeHistory& history = *view_.track->history;
  if (!present) {
    const absl::Time since = PointAt(gpu, moment)->held_since();
    for (const PastHolder& past : history.past_holders) {
      if (past.held_since == since && past.gpu_uuid == series.uuid) return past.still_memory;
    }
  }
  if (!series.present()) return {};
  return view_.StillMemoryOf(static_cast<size_t>(series.position));
}

std::string ReplicaReader::GapText() const {
  for (const GpuSeries& gpu : gpus_) {
    if (!gpu.present()) return absl::StrCat(gpu.name, " is gone");
    if (gpu.points.back()->Value(metric_.reading)) continue;
    const GpuGap* const gap =
        FindGap(view_.Gpus()[static_cast<size_t>(gpu.position)], FieldOf(metric_.reading));
    return gap == nullptr ? absl::StrCat(gpu.name, " has no ", metric_.name) : Why(*gap);
  }
  return "";
}

}  // namespace gpuscaler
