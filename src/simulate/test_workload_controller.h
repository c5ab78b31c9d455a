// Kubernetes' controllers for a workload's pods (Kubernetes 1.36: pkg/controller/deployment,
// pkg/controller/statefulset), one sync at a time.
#pragma once

#include <map>
#include <optional>

#include "simulate/test_gpu_cluster.h"

namespace gpuscaler {

// maxSurge and maxUnavailable: pods, or a percentage of spec.replicas.
struct PodsOrPercent {
  int value = 25;
  bool is_percent = true;

  int RoundedUp(int replicas) const { return is_percent ? (replicas * value + 99) / 100 : value; }
  int RoundedDown(int replicas) const { return is_percent ? replicas * value / 100 : value; }
};

class WorkloadController {
 public:
  virtual ~WorkloadController() = default;

  // Runs one sync: creates and deletes pods for spec.replicas.
  virtual void Sync(int replicas, GpuCluster& cluster) = 0;

  // Sets a new pod template, which starts a rollout.
  void Update(const PodTemplate& pods) {
    template_ = pods;
    ++revision_;
  }

 protected:
  explicit WorkloadController(const PodTemplate& pods) : template_(pods) {}

  PodTemplate template_;
  int revision_ = 0;  // incremented with each template
};

class DeploymentController : public WorkloadController {
 public:
  struct Strategy {
    bool recreate = false;
    PodsOrPercent max_surge;
    PodsOrPercent max_unavailable;
  };
  DeploymentController(const PodTemplate& pods, const Strategy& strategy)
      : WorkloadController(pods), strategy_(strategy) {}

  void Sync(int replicas, GpuCluster& cluster) override;

 private:
  void Recreate(int replicas, const GpuCluster& cluster);
  void ScaleInProportion(int replicas);
  bool ScaleUpNew(int replicas);
  void ScaleDownOld(int replicas, const GpuCluster& cluster);
  void SyncSets(GpuCluster& cluster) const;
  int Surge(int replicas) const;
  int Unavailable(int replicas) const;
  int Total() const;

  const Strategy strategy_;
  std::map<int, int> sizes_;  // key: revision of the ReplicaSet
  int scaled_to_ = 0;         // spec.replicas of the last sync
};

// podManagementPolicy OrderedReady.
class StatefulSetController : public WorkloadController {
 public:
  explicit StatefulSetController(const PodTemplate& pods) : WorkloadController(pods) {}

  void Sync(int replicas, GpuCluster& cluster) override;
};

}  // namespace gpuscaler
