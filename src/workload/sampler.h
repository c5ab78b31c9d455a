// The sampler: reads the GPUs, adds their holders and stores the snapshot.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "base/clock.h"
#include "gpu/gpu_source.h"
#include "model/leases.h"
#include "model/snapshot_store.h"
#include "workload/attribution.h"
#include "workload/holding.h"

namespace gpuscaler {

// The only writer of the store. Not thread-safe.
class Sampler {
 public:
  // Called by Tick(); must not block. Only `processes_changed` may be empty.
  struct Callbacks {
    // The result of a reading, and how long it took.
    std::function<void(const absl::Status&, absl::Duration)> collected;
    // A snapshot with holders, before it is stored.
    std::function<void(const NodeSnapshot&)> annotated;
    // The processes on the GPUs have changed. Unused without `attribution`.
    std::function<void()> processes_changed;
  };

  // All references must outlive the sampler. `attribution` is null if GPUs have no owners.
  Sampler(const Clock& clock, GpuSource& source, const Leases& leases, SnapshotStore& store,
          KubeletAttribution* attribution, Callbacks callbacks);

  // Stores a new snapshot. Returns OK also if the source has none newer than the stored one, or the
  // error of the reading. Logs changes, not ticks.
  absl::Status Tick();

 private:
  void LogChanges(const absl::Status& status);
  void LogGpus(const NodeSnapshot& snapshot);
  void LogUnreadable(const NodeSnapshot& snapshot);

  const Clock& clock_;
  GpuSource& source_;
  const Leases& leases_;
  SnapshotStore& store_;
  KubeletAttribution* const attribution_;
  const Callbacks callbacks_;
  HoldingTracker holding_;
  absl::Time newest_at_ = absl::InfinitePast();  // time of the newest stored reading
  std::string last_error_;                       // empty: the last reading was good
  bool first_ = true;
  std::set<std::string> uuids_;       // in the last good reading
  std::set<std::string> unreadable_;  // subset of uuids_
};

}  // namespace gpuscaler
