#include "demo/demo_scenario.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/number_text.h"
#include "simulate/closed_loop.h"
#include "simulate/recipe_scalers.h"

namespace gpuscaler {
namespace {

ScalingCost CostOf(std::string name, const DemoScenario& scenario, int initial_replicas,
                   absl::Duration duration, ReplicaPolicy& policy) {
  const DemoServiceOptions& service = scenario.service;
  LoopScenario loop{.workload = {.engine = DemoBatch(service),
                                 .shortest_start = service.start_time,
                                 .longest_start = service.start_time,
                                 .grace = absl::ZeroDuration()},
                    .goals = {absl::InfiniteDuration(), absl::InfiniteDuration()},
                    .duration = duration,
                    .initial_replicas = initial_replicas};
  loop.requests = EvenTrace(CurveOf(scenario.load, /*speed=*/1),
                            std::min(duration, scenario.load.End()), kDemoRequest);
  const LoopResult result = RunLoop(loop, policy);
  const LoopTotals& totals = result.totals;
  const absl::Duration mean =
      totals.served == 0 ? absl::ZeroDuration() : totals.latency / totals.served;
  const auto wait = [&service](absl::Duration latency) {
    return std::max(latency - service.request_time, absl::ZeroDuration());
  };
  return {.name = std::move(name),
          .gpu_seconds = 3600 * totals.gpu_hours,
          .served = totals.served,
          .unserved = totals.unserved,
          .mean_wait = wait(mean),
          .longest_wait = wait(totals.longest_latency),
          .most_replicas = totals.most_replicas,
          .replicas = result.samples.back().desired};
}

}  // namespace

BatchEngineOptions DemoBatch(const DemoServiceOptions& options) {
  return {.max_num_seqs = options.batch_limit,
          .kv_cache_tokens = 4 * kDemoRequest.max_tokens * options.batch_limit,  // never the bound
          .step = {.base = absl::ToDoubleSeconds(options.request_time) / kDemoRequest.max_tokens}};
}

ScalingCost CostOfStatic(const DemoScenario& scenario, int replicas, absl::Duration duration) {
  StaticPolicy policy(replicas);
  return CostOf(absl::StrCat("static, ", CountText(replicas, "replica")), scenario, replicas,
                duration, policy);
}

ScalingCost CostOfGoScaler(const DemoScenario& scenario, absl::Duration duration) {
  std::vector<ScaledTrigger> triggers;
  triggers.push_back(GoReference());
  triggers.push_back(HeldRequestsRecipe());
  KedaPolicy policy(scenario.scaled_object, std::move(triggers));
  return CostOf("the reference's formula", scenario, 0, duration, policy);
}

}  // namespace gpuscaler
