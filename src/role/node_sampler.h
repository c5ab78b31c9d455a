// Reads this node's GPUs and their holders: the common part of an agent and a standalone scaler.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/periodic_thread.h"
#include "gpu/gpu_source.h"
#include "model/leases.h"
#include "model/snapshot_store.h"
#include "role/config.h"
#include "serve/gpu_time_metrics.h"
#include "serve/metrics.h"
#include "workload/attribution.h"
#include "workload/sampler.h"

namespace gpuscaler {

// Has two threads, which wake each other: one reads the GPUs, one calls the kubelet.
class NodeSampler {
 public:
  // `clock` and `metrics` must outlive it.
  NodeSampler(const Config& config, const Clock& clock, std::unique_ptr<GpuSource> source,
              Metrics& metrics);

  // Starts the threads. `read` is called with the status of each reading, on the reading thread.
  // The kubelet is queried every `kubelet_interval` of real time, and when GPU processes change.
  void Start(std::function<void(const absl::Status&)> read,
             absl::Duration kubelet_interval = kKubeletInterval);

  // Causes a reading at once. Thread-safe; no effect before Start() and after ReleaseThreads().
  void Wake();

  // Adds pods that were on the node before this process started. No effect without a kubelet.
  // Thread-safe.
  void AddFormerPods(std::vector<Pod> pods);

  // The threads must be stopped at shutdown. Wake() has no effect from now on.
  std::vector<PeriodicThread*> ReleaseThreads();
  // Blocks until both threads have ended, however long a driver or a kubelet takes. After that the
  // objects that `read` uses may be destroyed.
  void Join();

  bool asks_kubelet() const { return attribution_ != nullptr; }

  SnapshotStore& store() { return store_; }
  const SnapshotStore& store() const { return store_; }
  Leases& leases() { return leases_; }
  GpuTimeMetrics& gpu_time() { return gpu_time_; }

 private:
  void WakeKubelet();

  const absl::Duration interval_;
  const std::unique_ptr<GpuSource> source_;
  SnapshotStore store_;
  Leases leases_;
  GpuTimeMetrics gpu_time_;
  const std::unique_ptr<KubeletAttribution> attribution_;  // null: GPUs have no owners
  Sampler sampler_;
  std::atomic<PeriodicThread*> wakeable_sampler_ = nullptr;  // null: no sampler to wake
  std::atomic<PeriodicThread*> wakeable_kubelet_ = nullptr;
  std::unique_ptr<PeriodicThread> kubelet_thread_;  // null: no kubelet attribution
  std::unique_ptr<PeriodicThread> sampler_thread_;
};

}  // namespace gpuscaler
