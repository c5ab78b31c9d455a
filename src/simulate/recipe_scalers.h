// Scalers of other setups: common Prometheus recipes, the Go scaler of the same name, and llm-d's
// latency law.
#pragma once

#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "simulate/engine_preset.h"
#include "simulate/replica_policy.h"

namespace gpuscaler {

// A scaler with one current number of the workload, active above 0.
class RecipeScaler : public Scaler {
 public:
  using Query = std::function<double(const SimulatedWorkload&)>;
  explicit RecipeScaler(Query query) : query_(std::move(query)) {}

  void Observe(const SimulatedWorkload& workload) override { value_ = query_(workload); }
  absl::StatusOr<double> GetMetrics() override { return value_; }
  absl::StatusOr<bool> IsActive() override { return value_ > 0; }

 private:
  const Query query_;
  double value_ = 0;
};

KedaTrigger WaitingRecipe(double target);        // sum of waiting requests
KedaTrigger InFlightRecipe(double target);       // sum of waiting and running requests
KedaTrigger UtilizationRecipe(TargetType type);  // avg(utilization) against 80
KedaTrigger HeldRecipe(double target);           // sum of requests at the router
// Wakes the first replica: 1 while requests wait at the router, against a target of 1.
KedaTrigger HeldRequestsRecipe();
// The Go scaler's profile vllm-inference: the highest memory_used_percent of all GPUs against 80.
KedaTrigger GoScalerTrigger();

// llm-d's law: computes replicas from the P90 of TTFT and TPOT of the last minute relative to their
// goals, capped at 2 and averaged over 45 s. Within a band it changes nothing [llm-d
// guides/workload-autoscaling/README.slo-aware.md].
class LatencyLawScaler : public Scaler {
 public:
  explicit LatencyLawScaler(const LatencyGoals& goals) : goals_(goals) {}

  void Observe(const SimulatedWorkload& workload) override;
  absl::StatusOr<double> GetMetrics() override { return desired_; }
  absl::StatusOr<bool> IsActive() override { return true; }

 private:
  struct Measured {
    absl::Time at;
    double of_goal;
  };
  double Saturation() const;

  const LatencyGoals goals_;
  std::vector<Measured> first_tokens_;   // last minute
  std::vector<Measured> output_tokens_;  // last minute
  std::deque<Measured> saturation_;      // last 45 s
  absl::Time next_evaluation_ = absl::InfinitePast();
  double desired_ = 0;
};

KedaTrigger LatencyLaw(const LatencyGoals& goals);
// The ScaledObject of llm-d's guide: up by 100 % or 4 pods a minute, down by one in two minutes.
ScaledObjectSpec LatencyLawObject(int min_replicas, int max_replicas);

}  // namespace gpuscaler
