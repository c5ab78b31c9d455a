#include "scaling/replica_reader.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace gpuscaler {
namespace {

std::vector<size_t> NodesOf(std::span<const GpuSeries> gpus) {
  std::vector<size_t> nodes;
  for (const GpuSeries& gpu : gpus) {
    if (std::ranges::find(nodes, gpu.node) == nodes.end()) nodes.push_back(gpu.node);
  }
  return nodes;
}

}  // namespace

std::vector<std::string> UuidsOf(std::span<const GpuSeries> gpus) {
  std::vector<std::string> uuids;
  for (const GpuSeries& gpu : gpus) uuids.push_back(gpu.uuid);
  return uuids;
}

ReplicaReader::ReplicaReader(const Trigger& trigger, std::span<const NodeView> views,
                             const StalenessLimits& staleness, std::span<const GpuSeries> gpus,
                             const ReplicaProperties& properties)
    : trigger_(trigger),
      metric_(InfoOf(trigger.metric)),
      views_(views),
      gpus_(gpus),
      properties_(properties),
      nodes_(NodesOf(gpus)),
      timeline_(views, nodes_),
      values_(gpus.size(), staleness.stale_after),
      utilization_(gpus.size(), staleness.stale_after) {
  for (const GpuSeries& gpu : gpus) {
    node_of_gpu_.push_back(
        static_cast<size_t>(std::ranges::find(nodes_, gpu.node) - nodes_.begin()));
  }
}

std::vector<Replica> ReplicaReader::Read() {
  const size_t ticks = timeline_.ticks().size();
  for (size_t tick = 0; tick < ticks; ++tick) {
    const ReplicaSample sample = ReadTick(tick);
    const std::optional<absl::Time> since = HeldSince(tick);
    if (!since) {
      held_ = false;
      continue;
    }
    if (!held_ || replicas_.back().held_since != *since) {
      const absl::Time left_at =
          replicas_.empty() ? absl::InfinitePast() : replicas_.back().samples.back().at;
      Begin(*since);
      replicas_.back().counted_since = std::max(replicas_.back().counted_since, left_at);
      replicas_.back().samples.reserve(ticks - tick);
    }
    replicas_.back().samples.push_back(sample);
    last_held_.back() = tick;
  }
  if (held_) replicas_.back().present = true;
  // Only the newest holder is deleted then; earlier ones had left.
  if (!replicas_.empty() && replicas_.back().samples.back().at >= properties_.ending_since) {
    replicas_.back().ending_since = properties_.ending_since;
  }
  for (size_t i = 0; i < replicas_.size(); ++i) {
    AddSteadyMemory(last_held_[i], replicas_[i]);
    replicas_[i].loaded_at = LoadedAt(replicas_[i]);
  }
  return std::move(replicas_);
}

std::optional<double> ReplicaReader::MetricAt(absl::Time now) const {
  return properties_.why_stale.empty() ? values_.AggregateAt(trigger_.aggregation, now)
                                       : std::nullopt;
}

double ReplicaReader::ShareAt(size_t gpu, size_t tick) const {
  const std::vector<float>& shares = gpus_[gpu].shares;
  return shares.empty() ? 1 : shares[static_cast<size_t>(RunAt(gpu, tick).run)];
}

// Returns when the present holders got the GPUs; empty: there are none.
std::optional<absl::Time> ReplicaReader::HeldSince(size_t tick) const {
  std::optional<absl::Time> since;
  for (size_t gpu = 0; gpu < gpus_.size(); ++gpu) {
    const GpuPointView point = PointAt(gpu, tick);
    if (!point.exists() || !(properties_.by_owner || point.in_use())) continue;
    const absl::Time of_gpu = properties_.by_owner ? gpus_[gpu].pod_since : point.held_since();
    since = std::min(since.value_or(absl::InfiniteFuture()), of_gpu);
  }
  return since;
}

void ReplicaReader::ReadGpu(size_t gpu, size_t tick) {
  const GpuPointView point = PointAt(gpu, tick);
  if (!point.exists() && properties_.by_owner) {
    values_.Remove(gpu);
    utilization_.Remove(gpu);
  }
  if (!point.exists()) return;
  const absl::Time read_at = RunAt(gpu, tick).read_at;
  const double share = ShareAt(gpu, tick);
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

ReplicaSample ReplicaReader::ReadTick(size_t tick) {
  const SampleTime& now = timeline_.ticks()[tick];
  for (size_t gpu = 0; gpu < gpus_.size(); ++gpu) ReadGpu(gpu, tick);
  return {.since = now.since,
          .at = now.at,
          .metric = values_.AggregateAt(trigger_.aggregation, now.at),
          .utilization = utilization_.AggregateAt(trigger_.aggregation, now.at),
          .busy = utilization_.AnyAboveZero(now.at),
          .metric_read_at = values_.Oldest(),
          .utilization_read_at = utilization_.Oldest()};
}

// Returns when the start began: when the GPU was taken, or, if readiness is known, when the pod was
// listed. Until a pod is Ready its processes come and go, and other pods may have had its GPUs.
absl::Time ReplicaReader::StartingSince(absl::Time held_since) const {
  const bool by_clock = !properties_.ready_at && held_since != absl::InfinitePast();
  return by_clock ? held_since : properties_.listed_since;
}

void ReplicaReader::Begin(absl::Time since) {
  held_ = true;
  replicas_.push_back(
      {.name = properties_.name,
       .gpu_uuids = UuidsOf(gpus_),
       .nodes = properties_.node_names,
       .held_since = since,
       .starting_since = StartingSince(since),
       .warm_at = properties_.ready_at.value_or(since + trigger_.warmup),
       .counted_since = std::max(since, properties_.ready_at.value_or(since + trigger_.warmup)),
       .last_error = MissingValueReason(),
       .why_stale = properties_.why_stale,
       .is_on_two_nodes = properties_.is_on_two_nodes,
       .covered_since = properties_.covered_since,
       .dropped_until = properties_.dropped_until,
       .pods = properties_.pods});
  last_held_.push_back(0);
}

void ReplicaReader::AddSteadyMemory(size_t tick, Replica& replica) const {
  for (size_t gpu = 0; gpu < gpus_.size(); ++gpu) {
    const GpuPointView point = PointAt(gpu, tick);
    if (!point.exists()) continue;
    replica.steady_memory.push_back(SteadyMemoryOf(gpu, point.held_since(), replica.present));
  }
}

// Returns the memory of the holder that has or had the GPU since `held_since`.
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

// Returns when all its memory had been loaded, only for a start that ends by the clock.
absl::Time ReplicaReader::LoadedAt(const Replica& replica) const {
  const bool by_clock = !properties_.ready_at && trigger_.warmup > absl::ZeroDuration() &&
                        EvaluatesPreallocatedMemory(trigger_);
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
