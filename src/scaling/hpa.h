// The algorithm of the Horizontal Pod Autoscaler for external metrics (autoscaling/v2, Kubernetes
// 1.36: pkg/controller/podautoscaler), as a pure state machine over time.
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
  enum class Select { kMax, kMin, kDisabled };  // selectPolicy
  absl::Duration stabilization_window;
  std::vector<HpaPolicy> policies;  // none: no limit
  Select select = Select::kMax;     // kMax: the policy with the greatest change
};
HpaRules DefaultScaleUp();    // 0 s; 4 pods or 100 % in 15 s
HpaRules DefaultScaleDown();  // 300 s; 100 % in 15 s

struct HpaOptions {
  int min_replicas = 1;
  int max_replicas = 10;
  TargetType target_type = TargetType::kAverageValue;
  double target = 80;
  double tolerance = 0.1;  // no change if the ratio is within it

  // spec.behavior, with Kubernetes' defaults.
  HpaRules scale_up = DefaultScaleUp();
  HpaRules scale_down = DefaultScaleDown();
  // True: no spec.behavior, as in the HPA that KEDA creates for a ScaledObject without
  // horizontalPodAutoscalerConfig. The controller's older algorithm then ignores the rules above:
  // it takes the highest proposal of the last 300 s, limited to twice the replicas or 4.
  bool no_behavior = false;
};

// Returns one metric's proposal before limits: ceil(value / target), or ceil(ready * value /
// target) for Value, which alone uses `ready`. Returns `replicas` within the tolerance. Value and
// target are rounded to thousandths, as KEDA sends them.
int ProposeReplicas(const HpaOptions& options, int replicas, int ready, double value);

// If a proposal is empty (the metric failed), the others may scale out but not in. Returns nullopt
// if nothing must change.
std::optional<int> HighestProposal(int replicas, const std::vector<std::optional<int>>& proposals);

// One HPA object. Not thread-safe.
class Hpa {
 public:
  explicit Hpa(HpaOptions options);

  // Runs one sync at `now` and returns the new spec.replicas. Without a value (the metric failed)
  // it is unchanged. At 0 replicas an HPA does nothing: KEDA wakes the workload.
  int Sync(absl::Time now, int replicas, int ready, std::optional<double> value);

  // Like Sync() with a given proposal: applies stabilization, policies and limits.
  int Apply(absl::Time now, int replicas, std::optional<int> proposal);

  const HpaOptions& options() const { return options_; }

 private:
  struct Event {
    absl::Time at;
    int replicas;
  };
  int Stabilize(absl::Time now, int replicas, int proposal) const;
  int Limit(absl::Time now, int replicas, int wanted) const;
  int PolicyLimit(absl::Time now, int replicas, bool up) const;
  int ReplicasBefore(absl::Time now, int replicas, absl::Duration period) const;
  void DropExpired(absl::Time now);

  const HpaOptions options_;
  std::deque<Event> proposals_;
  std::deque<Event> changes_;  // positive: up
};

}  // namespace gpuscaler
