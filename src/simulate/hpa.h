// The Horizontal Pod Autoscaler's algorithm for one external metric (autoscaling/v2,
// Kubernetes 1.36: pkg/controller/podautoscaler), as a pure state machine over time.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "scaling/trigger.h"

namespace gpuscaler {

struct HpaPolicy {
  enum class Type { kPods, kPercent };
  Type type;
  int value;
  absl::Duration period;
};

struct HpaRules {
  absl::Duration stabilization_window;
  std::vector<HpaPolicy> policies;  // the one that allows most counts (selectPolicy: Max)
};

struct HpaOptions {
  int min_replicas = 1;
  int max_replicas = 10;
  TargetType target_type = TargetType::kAverageValue;
  double target = 80;
  double tolerance = 0.1;  // no change while the ratio is within it
  HpaRules scale_up;       // defaults: DefaultScaleUp(), DefaultScaleDown()
  HpaRules scale_down;
};
HpaRules DefaultScaleUp();    // 0 s; 4 pods or 100 % in 15 s
HpaRules DefaultScaleDown();  // 300 s; 100 % in 15 s

// One metric's proposal, before limits: ceil(value / target), or for Value ceil(ready * value /
// target); `replicas` itself while within the tolerance. `ready` matters to Value only.
int ProposeReplicas(const HpaOptions& options, int replicas, int ready, double value);

// One HPA object.
class Hpa {
 public:
  explicit Hpa(HpaOptions options);

  // One sync at `now`: what spec.replicas becomes. No value (the metric failed): unchanged.
  int Sync(absl::Time now, int replicas, int ready, std::optional<double> value);

 private:
  struct Change {
    absl::Time at;
    int by;  // positive: up
  };
  struct Proposal {
    absl::Time at;
    int replicas;
  };

  const HpaOptions options_;
  std::deque<Proposal> proposals_;
  std::deque<Change> changes_;
};

}  // namespace gpuscaler
