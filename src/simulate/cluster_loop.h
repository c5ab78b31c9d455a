// A workload on a simulated cluster under KEDA, its HPA and the real Decide: what becomes of
// spec.replicas while pods start, end, crash or move.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "model/memory_watch.h"
#include "model/node_history.h"
#include "scaling/decision.h"
#include "simulate/gpu_cluster.h"
#include "simulate/keda.h"
#include "simulate/workload_controller.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// Decide on what the agents of all nodes have reported. Not thread-safe.
class ClusterScaler : public Scaler {
 public:
  ClusterScaler(Trigger trigger, const StalenessLimits& staleness)
      : trigger_(std::move(trigger)), staleness_(staleness) {}

  void Observe(std::vector<NodeSnapshot> snapshots);

  absl::StatusOr<double> GetMetrics() override;
  absl::StatusOr<bool> IsActive() override;

  const Trigger& trigger() const { return trigger_; }
  // On the newest readings.
  const Decision& Decided();

 private:
  struct Node {
    MemoryWatch memory;
    std::shared_ptr<const NodeHistory> history = std::make_shared<const NodeHistory>();
  };
  const Trigger trigger_;
  const StalenessLimits staleness_;
  absl::Time now_;
  std::vector<Node> nodes_;
  Decision decision_;
  bool is_decided_ = false;
};

struct ClusterScenario {
  GpuCluster::Options cluster;
  int replicas = 4;
  // All load together, in targets; available pods share it evenly.
  double load = 3.75;
  ScaledObjectSpec scaled_object = {.min_replica_count = 1, .max_replica_count = 20};
};

// Not thread-safe.
class ClusterLoop {
 public:
  // Begins with all replicas Ready and all windows full.
  ClusterLoop(const ClusterScenario& scenario, Trigger trigger,
              std::unique_ptr<WorkloadController> controller);

  void RunFor(absl::Duration duration);
  void SetLoad(double targets) { load_ = targets; }
  void Scale(int replicas);  // kubectl scale

  GpuCluster& cluster() { return cluster_; }
  WorkloadController& controller() { return *controller_; }
  const Decision& Decided() { return scaler_.Decided(); }

  int replicas() const { return replicas_; }  // spec.replicas
  int least() const { return least_; }        // since the workload was settled
  int most() const { return most_; }
  // "0 4, 97s 20": what spec.replicas became, and when after the workload was settled.
  std::string Timeline() const;

 private:
  void Step();

  const ClusterScenario scenario_;
  GpuCluster cluster_;
  std::unique_ptr<WorkloadController> controller_;
  ClusterScaler scaler_;
  Keda keda_;
  double load_;
  int replicas_;
  int64_t steps_ = 0;
  absl::Time settled_at_ = absl::InfiniteFuture();
  int least_;
  int most_;
  std::vector<std::pair<absl::Time, int>> changes_;
};

}  // namespace gpuscaler
