// The Horizontal Pod Autoscaler's algorithm for external metrics (autoscaling/v2, Kubernetes 1.36:
// pkg/controller/podautoscaler), as a pure state machine over time.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "trigger/trigger.h"

namespace gpuscaler {

struct HpaPolicy {
  enum class Type { kPods, kPercent };
  Type type;
  int value;
  absl::Duration period;
};

struct HpaRules {
  enum class Select { kMax, kMin, kDisabled };  // selectPolicy: which policy counts
  absl::Duration stabilization_window;
  std::vector<HpaPolicy> policies;  // none: no limit
  Select select = Select::kMax;     // the one that allows the greatest change
};
HpaRules DefaultScaleUp();    // 0 s; 4 pods or 100 % in 15 s
HpaRules DefaultScaleDown();  // 300 s; 100 % in 15 s

struct HpaOptions {
  int min_replicas = 1;
  int max_replicas = 10;
  TargetType target_type = TargetType::kAverageValue;
  double target = 80;
  double tolerance = 0.1;  // no change while the ratio is within it

  // spec.behavior, with Kubernetes' defaults for what it leaves out.
  HpaRules scale_up = DefaultScaleUp();
  HpaRules scale_down = DefaultScaleDown();
  // True: there is no spec.behavior, as in the HPA that KEDA writes for a ScaledObject without
  // horizontalPodAutoscalerConfig. The controller's older path then runs, without the rules above:
  // the highest proposal of the last 300 s, limited to twice the replicas or 4.
  bool no_behavior = false;
};

// One metric's proposal, before limits: ceil(value / target), or for Value ceil(ready * value /
// target); `replicas` itself while within the tolerance. `ready` matters to Value only. Value and
// target count in whole thousandths, as KEDA hands them on.
int ProposeReplicas(const HpaOptions& options, int replicas, int ready, double value);

// Several metrics: the highest proposal. An empty one (the metric failed) lets the others scale
// out, not in; empty when nothing is to be done.
std::optional<int> HighestProposal(int replicas, const std::vector<std::optional<int>>& proposals);

// One HPA object. Not thread-safe.
class Hpa {
 public:
  explicit Hpa(HpaOptions options);

  // One sync at `now`: what spec.replicas becomes. No value (the metric failed): unchanged. At 0
  // replicas an HPA does nothing: waking is KEDA's.
  int Sync(absl::Time now, int replicas, int ready, std::optional<double> value);

  // The same for a proposal made already: stabilisation, policies, limits.
  int Apply(absl::Time now, int replicas, std::optional<int> proposal);

  const HpaOptions& options() const { return options_; }

 private:
  struct Change {
    absl::Time at;
    int by;  // positive: up
  };
  struct Proposal {
    absl::Time at;
    int replicas;
  };
  int Stabilize(absl::Time now, int replicas, int proposal) const;
  int Limit(absl::Time now, int replicas, int wanted) const;
  int UpLimit(absl::Time now, int replicas) const;
  int DownLimit(absl::Time now, int replicas) const;
  int ReplicasBefore(absl::Time now, int replicas, absl::Duration period) const;
  void Forget(absl::Time now);

  const HpaOptions options_;
  std::deque<Proposal> proposals_;
  std::deque<Change> changes_;
};

}  // namespace gpuscaler
