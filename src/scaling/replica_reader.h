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

// The properties that all replicas on the same GPUs have in common.
struct ReplicaProperties {
  std::string name;
  std::vector<std::string> node_names;  // Replica::nodes
  std::vector<const Pod*> pods;         // Replica::pods
  // True: a pod or a group, which holds the GPUs that have a point. False: a GPU in use
  // means that all GPUs of the block are held.
  bool by_owner = false;
  // When its pods were first Ready. InfiniteFuture: never; empty: not known.
  std::optional<absl::Time> ready_at;
  absl::Time listed_since = absl::InfiniteFuture();  // PodGpus::listed_since of its newest pod
  absl::Time ending_since = absl::InfiniteFuture();  // Replica::ending_since
  std::string why_stale;
  bool is_on_two_nodes = false;  // Replica::is_on_two_nodes
  absl::Time covered_since;
  absl::Time dropped_until = absl::InfinitePast();
};

class ReplicaReader {
 public:
  // All references must outlive it. Requires at least one GPU.
  ReplicaReader(const Trigger& trigger, std::span<const NodeView> views,
                const StalenessLimits& staleness, std::span<const GpuSeries> gpus,
                const ReplicaProperties& properties);

  // Replicas are sorted, oldest first.
  std::vector<Replica> Read();

  // No replica has to hold the GPUs. Requires a call of Read() before.
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
  absl::Time StartingSince(absl::Time held_since) const;
  void AddSteadyMemory(Replica& replica) const;
  absl::Time LoadedAt(const Replica& replica) const;
  SteadyMemory SteadyMemoryOf(size_t gpu, absl::Time held_since, bool present) const;
  std::string MissingValueReason() const;

  const Trigger& trigger_;
  const MetricTypeInfo& metric_;
  const std::span<const NodeView> views_;
  const std::span<const GpuSeries> gpus_;
  const ReplicaProperties& properties_;
  std::vector<RunCursor> cursors_;  // one for each GPU
  LastKnownValues values_;
  LastKnownValues utilization_;
  absl::Time held_since_;  // when the holders at the cursors got the GPUs; InfiniteFuture: none has
  std::vector<Replica> replicas_;
};

std::vector<std::string> UuidsOf(std::span<const GpuSeries> gpus);

}  // namespace gpuscaler
