// Who runs on the GPUs in scope: the replicas of a workload, each with what its GPUs showed
// together.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "model/pod.h"
#include "model/steady_memory.h"

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
  std::string name;  // "gpu-7/0", "gpu-7/0-3"; of a pod or a group of pods its own
  std::vector<std::string> gpu_uuids;
  std::vector<std::string> nodes;  // of a pod or a group of pods
  bool present = false;            // holds its GPUs by its nodes' newest readings
  absl::Time held_since = absl::InfinitePast();
  // Since then it is starting, if it is: of pods that tell when they are Ready, since the newest
  // was listed.
  absl::Time starting_since = absl::InfiniteFuture();
  absl::Time warm_at = absl::InfinitePast();  // InfiniteFuture: its pod was not Ready yet
  // Its start may end by the clock alone: since then its memory has been loaded (DESIGN 2).
  absl::Time loaded_at = absl::InfiniteFuture();
  // Its load counts from then on. InfinitePast: from before its first sample.
  absl::Time counted_since = absl::InfinitePast();
  // Its deletion began then, and its load counts no more. InfiniteFuture: it serves.
  absl::Time ending_since = absl::InfiniteFuture();
  std::vector<ReplicaSample> samples;       // of its time only, oldest first; never empty
  std::vector<SteadyMemory> steady_memory;  // of each of its GPUs, at its newest sample
  std::string last_gap;                     // why a reading of it fails now
  std::string why_stale;                    // why its nodes no longer speak for it; empty: they do
  bool is_on_two_nodes = false;             // a pod of it, by its UID; `why_stale` names them
  absl::Time covered_since;                 // of its nodes, the latest (NodeView)
  // What its nodes read until then is not kept.
  absl::Time forgotten_until = absl::InfinitePast();

  std::vector<const Pod*> pods;  // of a pod or a group of pods; point into the fleet
  // Its samples are what its engines said (engine_replicas.h).
  bool by_engine = false;
  std::string against;                            // of their pressure: SignalSeries::against
  bool frozen = false;                            // one of them has stopped counting (DESIGN 2)
  absl::Time frozen_at = absl::InfiniteFuture();  // when one of them will have, if nothing is heard
};

}  // namespace gpuscaler
