#include "scaling/replica_reader.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace gpuscaler {

std::vector<std::string> UuidsOf(std::span<const GpuSeries> gpus) {
  std::vector<std::string> uuids;
  for (const GpuSeries& gpu : gpus) uuids.push_back(gpu.uuid);
  return uuids;
}

ReplicaReader::ReplicaReader(const Trigger& trigger, std::span<const NodeView> views,
                             const StalenessLimits& staleness, std::span<const GpuSeries> gpus,
                             const Replica& common, std::optional<absl::Time> ready_at)
    : trigger_(trigger),
      metric_(InfoOf(trigger.metric)),
      views_(views),
      gpus_(gpus),
      common_(common),
      ready_at_(ready_at),
      values_(gpus.size(), staleness.stale_after),
      utilization_(gpus.size(), staleness.stale_after) {
  cursors_.reserve(gpus.size());
  for (const GpuSeries& gpu : gpus) cursors_.emplace_back(views[gpu.node]);
}

std::vector<Replica> ReplicaReader::Read() {
  bool held = false;
  absl::Time before = absl::InfinitePast();
  for (absl::Time at = NextAfter(before); at != absl::InfiniteFuture(); at = NextAfter(at)) {
    const ReplicaSample sample = ReadSample(before, at);
    before = at;
    const bool was_held = std::exchange(held, held_since_ != absl::InfiniteFuture());
    if (!held) continue;
    if (!was_held || replicas_.back().held_since != held_since_) {
      const absl::Time left_at =
          replicas_.empty() ? absl::InfinitePast() : replicas_.back().samples.back().at;
      Begin(held_since_);
      replicas_.back().counted_since = std::max(replicas_.back().counted_since, left_at);
      replicas_.back().samples.reserve(cursors_.front().runs_left() + 1);
    }
    replicas_.back().samples.push_back(sample);
  }
  if (held) replicas_.back().present = true;
  // Only the newest holder is deleted then; earlier ones had left.
  if (!replicas_.empty() && replicas_.back().samples.back().at >= common_.ending_since) {
    replicas_.back().ending_since = common_.ending_since;
  }
  for (Replica& replica : replicas_) {
    AddSteadyMemory(replica);
    replica.loaded_at = LoadedAt(replica);
  }
  return std::move(replicas_);
}

std::optional<double> ReplicaReader::MetricAt(absl::Time now) const {
  return common_.why_stale.empty() ? values_.AggregateAt(trigger_.aggregation, now) : std::nullopt;
}

double ReplicaReader::ShareOf(size_t gpu) const {
  const std::vector<float>& shares = gpus_[gpu].shares;
  return shares.empty() ? 1 : shares[static_cast<size_t>(cursors_[gpu].run())];
}

void ReplicaReader::ReadGpu(size_t gpu, absl::Time at) {
  const GpuPointView point = PointAt(gpu, cursors_[gpu]);
  if (!point.exists()) {
    if (!common_.pods.empty()) {
      values_.Remove(gpu);
      utilization_.Remove(gpu);
    }
    return;
  }
  if (!common_.pods.empty()) {
    held_since_ = std::min(held_since_, gpus_[gpu].pod_since);
  } else if (point.in_use()) {
    held_since_ = std::min(held_since_, point.held_since());
  }
  const absl::Time read_at = cursors_[gpu].ReadAt(at);
  const double share = ShareOf(gpu);
  std::optional<double> value;
  std::optional<double> utilization;
  if (share != GpuSeries::kNoKnownShare) {
    value = point.Value(metric_.reading);
    utilization = point.Value(GpuReading::kUtilization);
  }
  if (value && metric_.divisible) *value *= share;
  if (utilization) *utilization *= share;
  values_.Read(gpu, read_at, value);
  utilization_.Read(gpu, read_at, utilization);
}

// Returns the next time after `at` at which a reading of one of the GPUs begins or ends to hold.
absl::Time ReplicaReader::NextAfter(absl::Time at) const {
  absl::Time next = absl::InfiniteFuture();
  for (const RunCursor& cursor : cursors_) next = std::min(next, cursor.NextAfter(at));
  return next;
}

ReplicaSample ReplicaReader::ReadSample(absl::Time before, absl::Time at) {
  absl::Time since = at;
  held_since_ = absl::InfiniteFuture();
  for (size_t gpu = 0; gpu < gpus_.size(); ++gpu) {
    cursors_[gpu].MoveTo(at);
    since = std::min(since, cursors_[gpu].CoversSince(at));
    ReadGpu(gpu, at);
  }
  return {.since = std::max(since, before),
          .at = at,
          .metric = values_.AggregateAt(trigger_.aggregation, at),
          .utilization = utilization_.AggregateAt(trigger_.aggregation, at),
          .busy = utilization_.AnyAboveZero(at),
          .metric_read_at = values_.Oldest(),
          .utilization_read_at = utilization_.Oldest()};
}

// A start begins when the GPU was taken, or, if readiness is known, when the pod was listed. Until
// a pod is Ready its processes come and go, and other pods may have had its GPUs.
void ReplicaReader::Begin(absl::Time since) {
  Replica& replica = replicas_.emplace_back(common_);
  replica.gpu_uuids = UuidsOf(gpus_);
  replica.held_since = since;
  if (!ready_at_ && since != absl::InfinitePast()) replica.starting_since = since;
  replica.started_at = ready_at_.value_or(since + trigger_.warmup);
  replica.counted_since = std::max(since, replica.started_at);
  replica.ending_since = absl::InfiniteFuture();
  replica.last_error = MissingValueReason();
}

void ReplicaReader::AddSteadyMemory(Replica& replica) const {
  for (size_t gpu = 0; gpu < gpus_.size(); ++gpu) {
    RunCursor cursor(views_[gpus_[gpu].node]);
    cursor.MoveTo(replica.samples.back().at);
    const GpuPointView point = PointAt(gpu, cursor);
    if (!point.exists()) continue;
    replica.steady_memory.push_back(SteadyMemoryOf(gpu, point.held_since(), replica.present));
  }
}

// `held_since` identifies the holder.
SteadyMemory ReplicaReader::SteadyMemoryOf(size_t gpu, absl::Time held_since, bool present) const {
  const GpuSeries& series = gpus_[gpu];
  const NodeView& view = views_[series.node];
  if (!present) {
    for (const PastHolder& past : view.state->history->past_holders) {
      if (past.held_since == held_since && past.gpu_uuid == series.uuid) return past.steady_memory;
    }
  }
  if (!series.present()) return {};
  return view.SteadyMemoryOf(static_cast<size_t>(series.position));
}

// InfiniteFuture unless the start ends by the clock.
absl::Time ReplicaReader::LoadedAt(const Replica& replica) const {
  const bool by_clock =
      !ready_at_ && trigger_.warmup > absl::ZeroDuration() && EvaluatesPreallocatedMemory(trigger_);
  if (!by_clock || !replica.present || replica.steady_memory.empty()) return absl::InfiniteFuture();
  absl::Time loaded_at = replica.held_since;
  for (const SteadyMemory& memory : replica.steady_memory) {
    loaded_at =
        std::max(loaded_at, memory.SteadyAt(trigger_.preallocation_window, replica.held_since));
  }
  return loaded_at;
}

std::string ReplicaReader::MissingValueReason() const {
  for (const GpuSeries& gpu : gpus_) {
    if (!gpu.present()) return absl::StrCat(gpu.name, " is gone");
    const GpuPointView newest = gpu.points.back();
    if (!newest.exists()) continue;
    if (newest.Value(metric_.reading)) {
      const bool is_possible = !gpu.shares.empty() && gpu.shares.back() == GpuSeries::kNoKnownShare;
      if (is_possible) return views_[gpu.node].Layout().attribution.why;
      continue;
    }
    const GpuSample& sample = views_[gpu.node].Gpus()[static_cast<size_t>(gpu.position)];
    const GpuGap* const gap = FindGap(sample, FieldOf(metric_.reading));
    return gap == nullptr ? absl::StrCat(gpu.name, " has no ", metric_.name) : Why(*gap);
  }
  return "";
}

}  // namespace gpuscaler
