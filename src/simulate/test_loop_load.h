// The loads for comparing scaling policies, and the two policies that use them in advance.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "simulate/closed_loop.h"
#include "simulate/test_request_trace.h"

namespace gpuscaler {

struct LoopLoad {
  std::string name;
  // In engines: 1 is the rate that one engine of a preset sustains within its goals.
  RateCurve engines = RateCurve::Constant(1);
  absl::Duration duration;
  absl::Duration measured_from;
  // When the load rises permanently. Empty: never.
  std::optional<absl::Duration> rises_at;

  int Needed(absl::Duration from, absl::Duration until) const;
  int MostNeeded() const { return Needed(measured_from, duration); }
};

LoopLoad ConstantLoad(double engines);  // two hours after half an hour to settle

// Returns constant loads of 0.3, 0.8, 1.5, 2.5, 3.3, 4.2 and 8.3 engines, a step from 1 to 6, a
// ramp, a diurnal curve in two hours, bursts, and on/off with gaps of 240 s.
std::vector<LoopLoad> LoopLoads();

// The scenario starts with the replicas that the load needs.
LoopScenario ScenarioOf(const EnginePreset& preset, const LoopLoad& load, uint64_t seed);

// Replaces all requests from `at` on by `later`, at the rate that needs as many engines.
void ChangeRequests(LoopScenario& scenario, const EnginePreset& preset, const LoopLoad& load,
                    const EngineRequest& later, absl::Duration at);

// The requests are scaled to `engines` engines on average: 1 is the rate of such requests that one
// engine sustains within the preset's goals.
RequestTrace TraceFor(const EnginePreset& preset, const RequestTrace& trace, double engines,
                      uint64_t seed);
// Returns the engines that the requests of such a trace need, by minute. All requests count as
// equally long.
LoopLoad LoadOf(const std::string& name, const RequestTrace& trace, double engines);

// A policy that runs the replicas the load needs up to `lead` ahead, the longest start.
ScheduledPolicy Clairvoyant(const LoopLoad& load, absl::Duration lead);

// llm-d's published episode: 2, 4, 6, 8, 10, 4 and 1 requests per second for 40 minutes, and 3 to 8
// replicas that start in 100 s, until 3 are left. Published: 95.8 % within the goals at 5.93
// replicas [llm-d guides/workload-autoscaling/slo-aware/benchmark-templates/BENCHMARK.md].
LoopScenario LlmdEpisode(uint64_t seed);
inline constexpr int kLlmdFewestReplicas = 3, kLlmdMostReplicas = 8;

}  // namespace gpuscaler
