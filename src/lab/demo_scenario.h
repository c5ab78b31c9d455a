// The demo's load, and the cost of the same load under other scaling policies, in simulation.
#pragma once

#include "absl/time/time.h"
#include "lab/cost_table.h"
#include "simulate/engine_preset.h"
#include "simulate/keda.h"
#include "simulate/rate_curve.h"

namespace gpuscaler {

// The requests per second over time: zero, a rise, a plateau, an end.
struct LoadShape {
  absl::Duration quiet = absl::Seconds(60);
  absl::Duration rise = absl::Minutes(30);  // linear
  absl::Duration hold = absl::Minutes(12);
  absl::Duration fall = absl::Minutes(1);  // linear
  double peak = 1.0;                       // requests per second

  absl::Duration End() const { return quiet + rise + hold + fall; }

  // Returns the requests per second at `passed` after the start.
  double RateAt(absl::Duration passed) const;

  // Returns the curve `speed` times as fast, in steps of 10 s.
  RateCurve Curve(int speed) const;
};

// Engines of one GPU each. All times are simulated.
struct DemoServiceOptions {
  int gpus = 8;  // further replicas stay pending
  // vLLM's --gpu-memory-utilization: allocated at start and kept, busy or idle.
  double preallocated_percent = 90;
  absl::Duration start_time = absl::Seconds(60);
};

// Returns the engine and the requests of all replicas. All engines share this machine, so it is the
// preset with the fewest requests per second that answers within a minute. One GPU of the demo
// stands for the two of the preset.
const EnginePreset& DemoEngine();

// Returns the requests per second that `gpus` replicas serve in time, at most those of 4.2 engines.
double DemoPeak(int gpus);

struct DemoScenario {
  LoadShape load;
  DemoServiceOptions service;
  ScaledObjectSpec scaled_object;
};

ScalingCost CostOfStatic(const DemoScenario& scenario, int replicas, absl::Duration duration);
// Returns the cost with the formula of the Go scaler of the same name, woken by held requests.
ScalingCost CostOfGoScaler(const DemoScenario& scenario, absl::Duration duration);

}  // namespace gpuscaler
