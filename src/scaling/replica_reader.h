// Walks the GPUs of a replica through time.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "scaling/bridge.h"
#include "scaling/node_view.h"
#include "scaling/replica.h"
#include "scaling/scope.h"
#include "scaling/walk.h"

namespace gpuscaler {

// What the replicas on some GPUs have in common, whenever each was there.
struct ReplicaPlace {
  std::string name;
  std::vector<std::string> node_names;  // Replica::nodes
  std::vector<const Pod*> pods;         // Replica::pods
  // A pod's or a group's: it holds those GPUs that have a point. Otherwise who uses them holds them
  // all.
  bool by_owner = false;
  // When its pods were first Ready, InfiniteFuture: never; empty: not known.
  std::optional<absl::Time> ready_at;
  absl::Time listed_since = absl::InfiniteFuture();  // PodGpus::listed_since of its newest pod
  std::string mute;
  absl::Time covered_since;
  absl::Time forgotten_until = absl::InfinitePast();
};

// Cuts what GPUs showed into one replica per holder.
class ReplicaReader {
 public:
  // All references outlive it. `gpus` has one at least.
  ReplicaReader(const Trigger& trigger, std::span<const NodeView> views, const Patience& patience,
                std::span<const GpuSeries> gpus, const ReplicaPlace& place);

  // Oldest first.
  std::vector<Replica> Read();

  // The metric as of then, whoever holds the GPUs; after Read().
  std::optional<double> MetricAt(absl::Time now) const;

 private:
  const Step& StepAt(size_t gpu, size_t moment) const { return walk_.steps(slots_[gpu])[moment]; }
  KeptPoint PointAt(size_t gpu, size_t moment) const {
    const int stretch = StepAt(gpu, moment).stretch;
    return stretch < 0 ? KeptPoint() : gpus_[gpu].points[static_cast<size_t>(stretch)];
  }
  double ShareAt(size_t gpu, size_t moment) const;
  ReplicaSample ReadMoment(size_t moment);
  std::optional<absl::Time> HeldSince(size_t moment) const;
  void Begin(absl::Time since);
  absl::Time StartingSince(absl::Time held_since) const;
  void ReadGpu(size_t gpu, size_t moment);
  void AddStillMemory(size_t moment, Replica& replica) const;
  StillMemory StillMemoryOf(size_t gpu, absl::Time held_since, bool present) const;
  std::string GapText() const;

  const Trigger& trigger_;
  const MetricTypeInfo& metric_;
  const std::span<const NodeView> views_;
  const std::span<const GpuSeries> gpus_;
  const ReplicaPlace& place_;
  const std::vector<size_t> nodes_;
  const Walk walk_;
  std::vector<size_t> slots_;  // each GPU's node in `nodes_`
  Bridge values_;
  Bridge utilization_;
  bool held_ = false;
  std::vector<Replica> replicas_;
  std::vector<size_t> last_held_;  // the last moment of each
};

std::vector<std::string> UuidsOf(std::span<const GpuSeries> gpus);

}  // namespace gpuscaler
