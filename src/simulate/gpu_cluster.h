// Pods of one workload on GPU nodes, from their creation to the end of their grace period, as the
// scheduler and the kubelets move them. A pure state machine over the caller's time.
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
  absl::Duration start = absl::Seconds(60);  // from its container's start to Ready
  // Each pod takes up to this much longer. Fixed for the number of a pod.
  absl::Duration start_spread = absl::ZeroDuration();
  bool is_broken = false;  // its pods never become Ready
  // A container that runs for this long ends and is started again. Infinite: it keeps running.
  absl::Duration crash_after = absl::InfiniteDuration();
  absl::Duration grace = absl::Seconds(30);  // from deletion to the end of its containers
};

struct SimulatedPod {
  int number = 0;  // counts up
  std::string name;
  int revision = 0;  // its pod template's
  int ordinal = 0;   // within a StatefulSet
  // With the pod's own `start`.
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

// Each pod takes one GPU, and frees it when its grace period has ended. Not thread-safe.
class GpuCluster {
 public:
  struct Options {
    int nodes = 6;
    int gpus_per_node = 4;
    // From a pod's creation to its place in the kubelet's list.
    absl::Duration scheduling = absl::Seconds(2);
    // The kubelet serves the Pods API: readiness and deletion are known. Otherwise only which pod
    // holds which GPU is.
    bool pods_api = true;
    // A pod's part of its GPU's memory. Weights fill it during the first 70 % of a start.
    double memory_percent = 90;
  };
  GpuCluster(const Options& options, absl::Time start);

  void Create(const PodTemplate& made_from, int revision, int ordinal = 0);
  void Delete(const std::string& name);  // its grace period begins
  void Lose(const std::string& name);    // gone at once, as with its machine
  void Cordon(int node);                 // takes no more pods
  void Drain(int node);                  // cordons it and deletes its pods

  // Pods of another workload of the namespace take free GPUs at once, and keep them fully busy.
  void StartOther(const PodOwner& owner, int pods);

  // Ends grace periods, schedules, starts and crashes containers.
  void Advance(absl::Time now);

  const std::vector<SimulatedPod>& pods() const { return pods_; }  // oldest first
  absl::Time now() const { return now_; }
  int Active() const;     // not terminating: status.replicas
  int Available() const;  // Ready among them

  // The snapshots of all agents now.
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
  std::vector<bool> cordoned_;  // each node
  // When each node had the workload's first pod: what its agent sends as the owner's time.
  std::vector<absl::Time> owner_listed_since_;
};

}  // namespace gpuscaler
