// The replicas of a workload, each with the readings of its GPUs over time.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "model/pod.h"
#include "model/steady_memory.h"

namespace gpuscaler {

// The GPUs of one replica at one time. After a failed reading the last known value counts for
// stale_after.
struct ReplicaSample {
  absl::Time since;  // begin of the time that it covers
  absl::Time at;
  std::optional<double> metric;       // over its GPUs by `aggregation`; in the metric's unit
  std::optional<double> utilization;  // over its GPUs by `aggregation`; 0-100
  bool busy = false;                  // a kernel ran on one of its GPUs
  // When the oldest reading in each was made; InfinitePast if one of its GPUs never had one.
  absl::Time metric_read_at = absl::InfinitePast();
  absl::Time utilization_read_at = absl::InfinitePast();
};

struct Replica {
  std::string name;  // "gpu-7/0", "gpu-7/0-3"; or the name of the pod or group
  std::vector<std::string> gpu_uuids;
  std::vector<std::string> nodes;  // with GPUs of it
  bool present = false;            // holds its GPUs in the newest readings of its nodes
  absl::Time held_since = absl::InfinitePast();
  // When its start began. If its pods report readiness: when the newest was listed.
  absl::Time starting_since = absl::InfiniteFuture();
  // When its start ends, so that it counts: it is Ready, or warmupSeconds have passed.
  // InfiniteFuture: it has not been Ready yet.
  absl::Time started_at = absl::InfinitePast();
  // When its memory had been loaded, which ends a start if readiness is not known.
  absl::Time loaded_at = absl::InfiniteFuture();
  // When its load begins to count. InfinitePast: before its first sample.
  absl::Time counted_since = absl::InfinitePast();
  // When its deletion began, and its load stopped counting. InfiniteFuture: it is not deleted.
  absl::Time ending_since = absl::InfiniteFuture();
  std::vector<ReplicaSample> samples;       // while it held its GPUs, oldest first; never empty
  std::vector<SteadyMemory> steady_memory;  // one for each of its GPUs, at its newest sample
  std::string last_error;                   // why its newest reading has no value
  std::string why_stale;         // why its nodes' readings are not valid; empty: they are
  bool is_on_two_nodes = false;  // two nodes report a pod of this UID; `why_stale` names them
  absl::Time covered_since;      // the latest of its nodes (NodeView)
  // Readings up to then are not kept.
  absl::Time dropped_until = absl::InfinitePast();

  // Hash of the UID of its pod. A group has that of the first by name that holds a GPU, which is
  // the leader if that has one: a hash of all would change whenever one joins or leaves. 0: not
  // known.
  size_t uid_hash = 0;
  std::vector<const Pod*> pods;  // empty without owners; point into the fleet
  // Its samples are those of its engines (engine_replicas.h).
  bool by_engine = false;
  std::string pressure_basis;  // SignalSeries::pressure_basis
  bool frozen = false;         // one of its engines no longer updates its metrics
  // When one of its engines will count as frozen, without new readings.
  absl::Time frozen_at = absl::InfiniteFuture();
};

}  // namespace gpuscaler
