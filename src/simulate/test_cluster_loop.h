// A workload on a simulated cluster under KEDA, its HPA and the real Decide(). Records
// spec.replicas while pods start, end, crash or move.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "model/memory_watch.h"
#include "model/node_history.h"
#include "scaling/decision.h"
#include "simulate/keda.h"
#include "simulate/test_cluster_engines.h"
#include "simulate/test_gpu_cluster.h"
#include "simulate/test_workload_controller.h"
#include "simulate/test_workload_telemetry.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// The value replaces the decision's, for tests of other rules.
using ValueRule = std::function<double(const Trigger& trigger, const Decision& decision)>;

// Calls Decide() on the reports of all nodes' agents and engines. Not thread-safe.
class ClusterScaler : public Scaler {
 public:
  // If `value` is null, the decision's value counts.
  ClusterScaler(Trigger trigger, std::string scaled_object, ValueRule value);

  void AddReadings(std::vector<NodeSnapshot> snapshots, const std::vector<ReadEngine>& engines);

  absl::StatusOr<double> GetMetrics() override;
  absl::StatusOr<bool> IsActive() override;

  const Trigger& trigger() const { return trigger_; }
  // Refers to the newest readings.
  const Decision& Decided();

 private:
  struct Node {
    MemoryWatch memory;
    std::shared_ptr<const NodeHistory> history = std::make_shared<const NodeHistory>();
  };
  const Trigger trigger_;
  const std::string scaled_object_;
  const ValueRule value_;
  const std::optional<SignalSource> source_;
  const EngineQuery query_;
  const EngineQuery stored_query_;  // as much of the past as agents keep
  SignalStore signals_;
  absl::Time now_;
  std::vector<Node> nodes_;
  Decision decision_;
  bool is_decided_ = false;
};

// The load that counts as one target on engines.
struct EngineLoad {
  const EnginePreset* preset = nullptr;  // null: no engines
  double requests_per_second = 0;
};

struct ClusterScenario {
  GpuCluster::Options cluster;
  int replicas = 4;
  // Adds a second trigger that is active if there is load and no pod is available, as for requests
  // held by a gateway. It wakes the first replica.
  bool wakes_from_zero = false;
  // Total load in targets. Without engines it is utilization, which available pods share evenly.
  double load = 3.75;
  EngineLoad engines;
  std::string scaled_object_name = "llm";
  ValueRule value;
  ScaledObjectSpec scaled_object = {.min_replica_count = 1, .max_replica_count = 20};
};

// Value and target are 1 while `active`, else 0.
class WakeScaler : public Scaler {
 public:
  absl::StatusOr<double> GetMetrics() override { return active ? 1.0 : 0.0; }
  absl::StatusOr<bool> IsActive() override { return active; }

  bool active = false;
};

// Not thread-safe.
class ClusterLoop {
 public:
  // Starts with all replicas Ready and all windows full.
  ClusterLoop(const ClusterScenario& scenario, Trigger trigger,
              std::unique_ptr<WorkloadController> controller);

  void RunFor(absl::Duration duration);
  void SetLoad(double targets);
  void Scale(int replicas);  // kubectl scale

  GpuCluster& cluster() { return cluster_; }
  WorkloadController& controller() { return *controller_; }
  const Trigger& trigger() const { return scaler_->trigger(); }
  const Decision& Decided() { return scaler_->Decided(); }

  int replicas() const { return replicas_; }  // spec.replicas
  int least() const { return least_; }        // since the workload was settled
  int most() const { return most_; }
  // Returns the changes of spec.replicas as seconds after the workload was settled: "0 4, 97s 20".
  std::string Timeline() const;

 private:
  void Step();
  std::vector<NodeSnapshot> Snapshots() const;
  std::vector<KedaTrigger> Triggers() const;

  const ClusterScenario scenario_;
  GpuCluster cluster_;
  std::unique_ptr<WorkloadController> controller_;
  std::optional<ClusterEngines> engines_;
  const std::shared_ptr<ClusterScaler> scaler_;
  const std::shared_ptr<WakeScaler> wake_ = std::make_shared<WakeScaler>();
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
