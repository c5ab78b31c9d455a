// Walks the GPUs of a replica through time.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "scaling/replica.h"
#include "scaling/walk.h"

namespace gpuscaler {

// One reading of several GPUs over time, gaps bridged by readings younger than stale_after.
class Bridge {
 public:
  Bridge(size_t gpus, absl::Duration stale_after) : last_(gpus), stale_after_(stale_after) {}

  void Read(size_t gpu, absl::Time at, std::optional<double> value) {
    if (value) last_[gpu] = {.at = at, .value = *value};
  }

  // InfinitePast when a GPU never gave one.
  absl::Time Oldest() const;

  // Empty when a GPU gave none for longer than stale_after.
  std::optional<double> Together(Aggregation aggregation, absl::Time at) const;

  bool AnyAboveZero(absl::Time at) const;

 private:
  struct Reading {
    absl::Time at = absl::InfinitePast();
    double value = 0;
  };
  std::vector<Reading> last_;
  const absl::Duration stale_after_;
};

// Cuts a block of one node's GPUs into one replica per holder.
class ReplicaReader {
 public:
  // All references outlive it.
  ReplicaReader(const Trigger& trigger, const ScopedFleet& scoped, const Patience& patience,
                std::span<const GpuSeries> gpus);

  // Oldest first.
  std::vector<Replica> Read();

  // Of now, whoever holds the block; after Read().
  std::optional<double> Newest() const;

  std::string Name() const;
  std::vector<std::string> Uuids() const;

 private:
  ReplicaSample ReadMoment(size_t moment);
  std::optional<absl::Time> HeldSince(size_t moment) const;
  const GpuPoint* PointAt(size_t gpu, size_t moment) const;
  void Begin(absl::Time since);
  StillMemory StillMemoryAt(size_t gpu, size_t moment, bool present) const;
  std::string GapText() const;

  const Trigger& trigger_;
  const MetricTypeInfo& metric_;
  const ScopedFleet& scoped_;
  const std::span<const GpuSeries> gpus_;
  const NodeView& view_;
  const Walk walk_;
  Bridge values_;
  Bridge utilization_;
  bool held_ = false;
  std::vector<Replica> replicas_;
  std::vector<size_t> last_held_;  // the last moment of each
};

}  // namespace gpuscaler
