// Who runs on the GPUs in scope: the replicas of a workload, each with what its GPUs showed
// together.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "scaling/scope.h"
#include "scaling/trigger.h"

namespace gpuscaler {

// The GPUs of one replica at one moment. A reading that failed is bridged by the one before it
// while that is younger than stale_after.
struct ReplicaSample {
  absl::Time since;  // what it says holds for the time behind that
  absl::Time at;
  std::optional<double> metric;       // over its GPUs by `aggregation`; in the metric's unit
  std::optional<double> utilization;  // over its GPUs by `aggregation`; 0-100
  bool busy = false;                  // a kernel ran on one of them
  // The oldest reading that went into each; InfinitePast when one of its GPUs never gave any.
  absl::Time metric_read_at = absl::InfinitePast();
  absl::Time utilization_read_at = absl::InfinitePast();
};

struct Replica {
  std::string name;  // "gpu-7/0", "gpu-7/0-3"
  std::vector<std::string> gpu_uuids;
  bool present = false;  // holds its GPUs by its nodes' newest readings
  absl::Time held_since = absl::InfinitePast();
  std::vector<ReplicaSample> samples;     // of its time only, oldest first; never empty
  std::vector<StillMemory> still_memory;  // of each of its GPUs, at its newest sample
  std::string last_gap;                   // why a reading of it fails now
  std::string mute;                       // why its node no longer speaks for it; empty: it does
  absl::Time covered_since;               // of its nodes, the latest (NodeView)
};

// GPUs of a block that nobody uses.
struct IdleBlock {
  std::string name;
  std::vector<std::string> gpu_uuids;
  std::optional<double> metric;
};

struct Population {
  std::vector<Replica> replicas;  // those present, then those gone
  std::vector<IdleBlock> idle;
  std::string from;  // where R comes from: "GPUs in use"
};

// Without owners: blocks of gpusPerReplica GPUs in index order of a node are the replicas; one is
// there while one of its GPUs is in use. A new holder of the same GPUs is a new replica.
Population ReplicasInUse(const Trigger& trigger, const ScopedFleet& scoped,
                         const Patience& patience);

}  // namespace gpuscaler
