// One tick of the life of a node: read the GPUs, say who holds them, store the snapshot.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "base/clock.h"
#include "gpu/gpu_source.h"
#include "serve/metrics.h"
#include "store/leases.h"
#include "store/snapshot_store.h"
#include "workload/attribution.h"
#include "workload/holding.h"

namespace gpuscaler {

// The only writer of the store. One thread's.
class Sampler {
 public:
  // All references outlive the sampler. `attribution` is null where GPUs have no owners;
  // `ask_kubelet` is called when other processes are on the GPUs, and does not wait.
  Sampler(const Clock& clock, GpuSource& source, const Leases& leases, SnapshotStore& store,
          Metrics& metrics, KubeletAttribution* attribution = nullptr,
          std::function<void()> ask_kubelet = nullptr);

  // OK with a snapshot in the store, the one of before where the source has nothing newer; else why
  // there is none. Logs changes, not ticks.
  absl::Status Tick();

 private:
  void LogChanges(const absl::Status& status);
  void LogGpus(const NodeSnapshot& snapshot);
  void LogUnreadable(const NodeSnapshot& snapshot);

  const Clock& clock_;
  GpuSource& source_;
  const Leases& leases_;
  SnapshotStore& store_;
  Metrics& metrics_;
  KubeletAttribution* const attribution_;
  const std::function<void()> ask_kubelet_;
  HoldingTracker holding_;
  absl::Time newest_at_ = absl::InfinitePast();  // of the readings that were stored
  std::string last_error_;                       // empty: the last reading was good
  bool first_ = true;
  std::set<std::string> uuids_;       // of the last good reading
  std::set<std::string> unreadable_;  // of them
};

}  // namespace gpuscaler
