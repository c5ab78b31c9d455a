// The loads that scaling policies are compared on, and the two policies that know them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "batching/engine_preset.h"
#include "load/rate_curve.h"
#include "simulate/closed_loop.h"

namespace gpuscaler {

struct LoopLoad {
  std::string name;
  // In engines: 1 is what one engine of a preset sustains within its goals.
  RateCurve engines = RateCurve::Constant(1);
  absl::Duration duration;
  absl::Duration measured_from;
  // When the load rises for good. Empty: it does not.
  std::optional<absl::Duration> rises_at;

  // Replicas that the load needs at any time between these.
  int Needed(absl::Duration from, absl::Duration until) const;
  int MostNeeded() const { return Needed(measured_from, duration); }
};

LoopLoad ConstantLoad(double engines);  // two hours after half an hour to settle

// Constant at 0.3, 0.8, 1.5, 2.5, 3.3, 4.2 and 8.3 engines; a step from 1 to 6, a ramp, a day in
// two hours, bursts, on and off with gaps of 240 s.
std::vector<LoopLoad> LoopLoads();

// Starts with the replicas that the load needs.
LoopScenario ScenarioOf(const EnginePreset& preset, const LoopLoad& load, uint64_t seed);

// From `at` on all requests are like `later`, at the rate that needs as many engines.
void ChangeRequests(LoopScenario& scenario, const EnginePreset& preset, const LoopLoad& load,
                    const EngineRequest& later, absl::Duration at);

// The requests of a trace, scaled to `engines` engines on average: 1 is the rate of such requests
// that one engine sustains within the preset's goals.
RequestTrace TraceFor(const EnginePreset& preset, const RequestTrace& trace, double engines,
                      uint64_t seed);
// How many engines the requests of such a trace need, minute by minute. Counts them as equally
// long.
LoopLoad LoadOf(const std::string& name, const RequestTrace& trace, double engines);

// Runs what the load needs, and knows it `lead` ahead. A pod that starts takes up to that time.
ScheduledPolicy Clairvoyant(const LoopLoad& load, absl::Duration lead);

// llm-d's published episode: 2, 4, 6, 8, 10, 4 and 1 requests a second for 40 minutes, 3 to 8
// replicas that start in 100 s, until 3 are left. Published: 95.8 % within the goals at 5.93
// replicas [llm-d guides/workload-autoscaling/slo-aware/benchmark-templates/BENCHMARK.md].
LoopScenario LlmdEpisode(uint64_t seed);
inline constexpr int kLlmdFewestReplicas = 3, kLlmdMostReplicas = 8;

}  // namespace gpuscaler
