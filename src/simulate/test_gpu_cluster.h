// The pods of one workload on GPU nodes, from creation to the end of the grace period, with the
// actions of scheduler and kubelets. A pure state machine: the caller provides the time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "model/node_snapshot.h"

namespace gpuscaler {

// The behaviour of pods made from one pod template.
struct PodTemplate {
  absl::Duration start = absl::Seconds(60);  // from the container's start to Ready
  // Each pod takes up to this much longer, depending on its number only.
  absl::Duration start_spread = absl::ZeroDuration();
  bool is_broken = false;  // pods never become Ready
  // A container exits after this time and restarts. Infinite: it keeps running.
  absl::Duration crash_after = absl::InfiniteDuration();
  absl::Duration grace = absl::Seconds(30);  // from deletion to the end of the containers
};

struct SimulatedPod {
  int number = 0;  // increasing
  std::string name;
  int revision = 0;  // the pod template's
  int ordinal = 0;   // within a StatefulSet
  // A copy with the pod's own `start`.
  PodTemplate made_from;
  absl::Time created_at;
  int gpu = -1;  // index over all nodes; -1: Pending
  absl::Time scheduled_at = absl::InfiniteFuture();
  absl::Time container_started_at = absl::InfiniteFuture();
  bool ready = false;
  bool was_ready = false;
  absl::Time deleted_at = absl::InfiniteFuture();

  bool IsPending() const { return gpu < 0; }
  bool IsTerminating() const { return deleted_at != absl::InfiniteFuture(); }
  bool IsAvailable() const { return ready && !IsTerminating(); }
  std::string Address() const;
};

// Each pod uses one GPU, and frees it at the end of its grace period. Not thread-safe.
class GpuCluster {
 public:
  struct Options {
    int nodes = 6;
    int gpus_per_node = 4;
    // From creation until the kubelet lists the pod.
    absl::Duration scheduling = absl::Seconds(2);
    // The kubelet serves the Pods API, so readiness and deletion are known. Otherwise only the GPUs
    // of each pod are known.
    bool pods_api = true;
    // The share of GPU memory that a pod uses. Weights fill it during the first 70 % of a start.
    double memory_percent = 90;
  };
  GpuCluster(const Options& options, absl::Time start);

  void Create(const PodTemplate& made_from, int revision, int ordinal = 0);
  void Delete(const std::string& name);  // starts its grace period
  void Lose(const std::string& name);    // removes it at once, as if its machine failed
  void Cordon(int node);                 // accepts no more pods
  void Drain(int node);                  // cordons the node and deletes its pods

  // Starts pods of another workload of the namespace on free GPUs, which they keep fully busy.
  void StartOther(const PodOwner& owner, int pods);

  // Ends grace periods, schedules pods, and starts and crashes containers.
  void Advance(absl::Time now);

  const std::vector<SimulatedPod>& pods() const { return pods_; }  // oldest first
  absl::Time now() const { return now_; }
  int Active() const;     // not terminating: status.replicas
  int Available() const;  // Ready and not terminating

  using Utilization = absl::FunctionRef<double(const SimulatedPod&)>;  // percent
  std::vector<NodeSnapshot> Snapshots(Utilization utilization) const;

 private:
  struct OtherPod {
    Pod pod;
    int gpu;
  };
  int FreeGpu() const;
  size_t NodeOf(int gpu) const { return static_cast<size_t>(gpu / options_.gpus_per_node); }
  double MemoryPercent(const SimulatedPod& pod) const;
  void Schedule(SimulatedPod& pod);
  void Run(SimulatedPod& pod);
  SimulatedPod* Find(const std::string& name);
  Pod PodOf(const SimulatedPod& pod) const;

  const Options options_;
  absl::Time now_;
  int created_ = 0;
  std::vector<SimulatedPod> pods_;
  std::vector<OtherPod> others_;
  std::vector<bool> cordoned_;  // one per node
  // When each node got the workload's first pod; agents send it as the owner's time.
  std::vector<absl::Time> owner_listed_since_;
};

}  // namespace gpuscaler
