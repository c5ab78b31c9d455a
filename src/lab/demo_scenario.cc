#include "lab/demo_scenario.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/number_text.h"
#include "simulate/closed_loop.h"
#include "simulate/recipe_scalers.h"

namespace gpuscaler {
namespace {

ScalingCost CostOf(std::string name, const DemoScenario& scenario, int initial_replicas,
                   absl::Duration duration, ReplicaPolicy& policy) {
  const DemoServiceOptions& service = scenario.service;
  LoopScenario loop{.workload = {.engine = DemoEngine().batch,
                                 .shortest_start = service.start_time,
                                 .longest_start = service.start_time,
                                 .grace = absl::ZeroDuration()},
                    .goals = {absl::InfiniteDuration(), absl::InfiniteDuration()},
                    .duration = duration,
                    .initial_replicas = initial_replicas};
  loop.requests = EvenTrace(scenario.load.Curve(/*speed=*/1),
                            std::min(duration, scenario.load.End()), DemoEngine().request);
  const LoopResult result = RunLoop(loop, policy);
  const LoopTotals& totals = result.totals;
  const absl::Duration mean =
      totals.served == 0 ? absl::ZeroDuration() : totals.latency / totals.served;
  return {.name = std::move(name),
          .gpu_seconds = 3600 * totals.gpu_hours,
          .served = totals.served,
          .unserved = totals.unserved,
          .mean_latency = mean,
          .longest_latency = totals.longest_latency,
          .most_replicas = totals.most_replicas,
          .replicas = result.samples.back().desired};
}

}  // namespace

double LoadShape::RateAt(absl::Duration passed) const {
  const double risen = absl::FDivDuration(passed - quiet, rise);
  const double left = absl::FDivDuration(End() - passed, fall);
  return peak * std::clamp(std::min(risen, left), 0.0, 1.0);
}

RateCurve LoadShape::Curve(int speed) const {
  return RateCurve([shape = *this, speed](absl::Duration passed) {
    constexpr absl::Duration kStep = absl::Seconds(10);
    return shape.RateAt(absl::Trunc(passed * speed, kStep) + kStep / 2) * speed;
  });
}

const EnginePreset& DemoEngine() { return *EnginePresetNamed("llm-d"); }

double DemoPeak(int gpus) {
  constexpr double kMaxEngines = 4.2, kShareOfGpus = 0.85;
  return DemoEngine().requests_per_second * std::min(kMaxEngines, kShareOfGpus * gpus);
}

ScalingCost CostOfStatic(const DemoScenario& scenario, int replicas, absl::Duration duration) {
  ScheduledPolicy policy(replicas);
  return CostOf(absl::StrCat("static, ", CountText(replicas, "replica")), scenario, replicas,
                duration, policy);
}

ScalingCost CostOfGoScaler(const DemoScenario& scenario, absl::Duration duration) {
  KedaPolicy policy(scenario.scaled_object, {GoScalerTrigger(), HeldRequestsRecipe()});
  return CostOf("the Go scaler's formula", scenario, 0, duration, policy);
}

}  // namespace gpuscaler
