// Runs a simulated workload, its requests and its scaling policy second by second, and returns the
// result.
//
//   const EnginePreset& preset = *EnginePresetNamed("small-batch");
//   LoopScenario scenario{.workload = {.engine = preset.batch}, .goals = preset.goals};
//   scenario.duration = absl::Hours(2);
//   scenario.requests = EvenTrace(RateCurve::Constant(3.3 * preset.requests_per_second),
//                                 scenario.duration, preset.request);
//   KedaPolicy policy({.min_replica_count = 1, .max_replica_count = 20}, {GoScalerTrigger()});
//   const LoopResult result = RunLoop(scenario, policy);
#pragma once

#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "simulate/engine_preset.h"
#include "simulate/rate_curve.h"
#include "simulate/replica_policy.h"
#include "simulate/simulated_workload.h"

namespace gpuscaler {

// The date has no effect.
absl::Time SimulatedStart();

struct TracedRequest {
  absl::Duration at;  // since the start
  EngineRequest request;
};
using RequestTrace = std::vector<TracedRequest>;  // ordered by time

// Returns evenly spaced requests.
RequestTrace EvenTrace(const RateCurve& curve, absl::Duration duration,
                       const EngineRequest& request);

struct LoopScenario {
  WorkloadOptions workload;
  LatencyGoals goals;
  RequestTrace requests;
  absl::Duration duration;
  int initial_replicas = 1;                 // ready at the start
  std::vector<absl::Duration> restarts_at;  // kubectl rollout restart
  // LoopResult's totals count from this time on.
  absl::Duration measured_from;
  // After the last request the run ends once no more than this many pods are left.
  int ends_at_replicas = -1;
};

struct LoopSample {
  absl::Duration at;
  int desired = 0;   // spec.replicas
  int replicas = 0;  // pods that are not terminating
  int ready = 0;
  int terminating = 0;
  int64_t running = 0;
  int64_t waiting = 0;
  std::optional<double> value;  // ReplicaPolicy::value()
};

struct LoopTotals {
  double gpu_hours = 0;      // all pods, also starting and terminating ones
  double mean_replicas = 0;  // pods that are not terminating
  int fewest_replicas = 0;   // spec.replicas
  int most_replicas = 0;
  int changes = 0;            // spec.replicas
  int direction_changes = 0;  // a change up after one down, or down after one up
  int scale_outs = 0;
  double hours = 0;
  // Requests that arrived in the measured time and were served, or are already late.
  int64_t requests = 0;
  int64_t within_goals = 0;
  int64_t served = 0;
  int64_t unserved = 0;
  absl::Duration latency;  // sum over served requests, until the last token
  absl::Duration longest_latency;

  double slo_percent() const {
    return requests == 0 ? 100
                         : 100 * static_cast<double>(within_goals) / static_cast<double>(requests);
  }
};

struct LoopResult {
  std::vector<LoopSample> samples;  // one per second
  LoopTotals totals;

  // Returns the time from `since` until this many replicas are ready, or nullopt if they never are.
  std::optional<absl::Duration> TimeUntilReady(int replicas, absl::Duration since) const;
};

// `each_second` is called before the policy, for scenarios with further events.
LoopResult RunLoop(
    const LoopScenario& scenario, ReplicaPolicy& policy,
    absl::FunctionRef<void(SimulatedWorkload&, absl::Duration)> each_second =
        [](SimulatedWorkload&, absl::Duration) {});

}  // namespace gpuscaler
