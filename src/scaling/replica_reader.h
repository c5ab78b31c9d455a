// Splits the readings of a set of GPUs into replicas, one for each successive holder.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "scaling/last_known_values.h"
#include "scaling/node_view.h"
#include "scaling/replica.h"
#include "scaling/scope.h"

namespace gpuscaler {

// Not thread-safe.
class ReplicaReader {
 public:
  // All references must outlive it. Requires at least one GPU. Each replica begins as a copy of
  // `common`, which has no samples:
  // - If it has pods, they hold the GPUs that have a point. Otherwise all are held while any is in
  //   use.
  // - `starting_since` is PodGpus::listed_since of its newest pod.
  // - `ending_since` is that of the newest holder.
  // `ready_at` is when its pods were first Ready. InfiniteFuture: never; empty: not known.
  ReplicaReader(const Trigger& trigger, std::span<const NodeView> views,
                const StalenessLimits& staleness, std::span<const GpuSeries> gpus,
                const Replica& common, std::optional<absl::Time> ready_at);

  // Replicas are sorted, oldest first.
  std::vector<Replica> Read();

  // Returns the metric over all of the GPUs, held or not. Empty: not known. Requires a call of
  // Read() before.
  std::optional<double> MetricAt(absl::Time now) const;

 private:
  GpuPointView PointAt(size_t gpu, const RunCursor& cursor) const {
    const int run = cursor.run();
    return run < 0 ? GpuPointView() : gpus_[gpu].points[static_cast<size_t>(run)];
  }
  double ShareOf(size_t gpu) const;
  absl::Time NextAfter(absl::Time at) const;
  ReplicaSample ReadSample(absl::Time before, absl::Time at);
  void ReadGpu(size_t gpu, absl::Time at);
  void Begin(absl::Time since);
  void AddSteadyMemory(Replica& replica) const;
  absl::Time LoadedAt(const Replica& replica) const;
  SteadyMemory SteadyMemoryOf(size_t gpu, absl::Time held_since, bool present) const;
  std::string MissingValueReason() const;

  const Trigger& trigger_;
  const MetricTypeInfo& metric_;
  const std::span<const NodeView> views_;
  const std::span<const GpuSeries> gpus_;
  const Replica& common_;
  const std::optional<absl::Time> ready_at_;
  std::vector<RunCursor> cursors_;  // one for each GPU
  LastKnownValues values_;
  LastKnownValues utilization_;
  absl::Time held_since_;  // when the holders at the cursors got the GPUs; InfiniteFuture: none has
  std::vector<Replica> replicas_;
};

std::vector<std::string> UuidsOf(std::span<const GpuSeries> gpus);

}  // namespace gpuscaler
