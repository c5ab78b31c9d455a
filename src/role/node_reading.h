// This node's GPUs, read all the time, with who holds them: what an agent and a standalone scaler
// have in common.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/periodic_thread.h"
#include "base/stop_all.h"
#include "config/config.h"
#include "gpu/gpu_source.h"
#include "role/sampler.h"
#include "serve/metrics.h"
#include "store/leases.h"
#include "store/snapshot_store.h"
#include "workload/attribution.h"

namespace gpuscaler {

// Has two threads, one that reads and one that asks the kubelet, which wake each other.
class NodeReading {
 public:
  // `clock` and `metrics` outlive it.
  NodeReading(const Config& config, const Clock& clock, std::unique_ptr<GpuSource> source,
              Metrics& metrics);

  // Begins to read; `read` is told how each reading went, by the thread that reads.
  void Start(std::function<void(const absl::Status&)> read);

  // Reads now. Thread-safe; does nothing before Start() and after Threads().
  void Wake();

  // Adds pods of the node before this process began, if the kubelet is asked. Thread-safe.
  void AddFormerPods(std::vector<Pod> pods);

  // The end: nobody is woken any more, and these are to be stopped.
  std::vector<NamedThread> Threads();
  // Waits for them, however long a driver or a kubelet takes: what `read` uses may go after that.
  void Join();

  // Whether the kubelet is asked for the pods that hold the GPUs.
  bool asks_kubelet() const { return attribution_ != nullptr; }

  SnapshotStore& store() { return store_; }
  const SnapshotStore& store() const { return store_; }
  Leases& leases() { return leases_; }

 private:
  void WakeKubelet();

  const absl::Duration interval_;
  const std::unique_ptr<GpuSource> source_;
  SnapshotStore store_;
  Leases leases_;
  const std::unique_ptr<KubeletAttribution> attribution_;  // null: GPUs have no owners
  Sampler sampler_;
  std::atomic<PeriodicThread*> waking_ = nullptr;  // null: no sampler to wake
  std::atomic<PeriodicThread*> waking_kubelet_ = nullptr;
  std::unique_ptr<PeriodicThread> asking_;  // null: no kubelet to ask
  std::unique_ptr<PeriodicThread> sampling_;
};

}  // namespace gpuscaler
