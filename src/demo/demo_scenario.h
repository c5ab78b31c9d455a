// The demo's load, and the cost of the same load under other ways of scaling, in simulation.
#pragma once

#include "absl/time/time.h"
#include "batching/engine_preset.h"
#include "demo/cost_table.h"
#include "demo/load_shape.h"
#include "simulate/keda.h"

namespace gpuscaler {

// Engines of one GPU each. All times are simulated.
struct DemoServiceOptions {
  int gpus = 8;  // a replica beyond them is pending
  // vLLM's --gpu-memory-utilization: taken at start and kept, busy or idle.
  double preallocated_percent = 90;
  absl::Duration start_time = absl::Seconds(60);
};

// The engine and the requests of all replicas. All engines share this machine, so it is the preset
// that serves the fewest requests a second with answers of less than a minute. One GPU of the demo
// stands for the two of the preset.
const EnginePreset& DemoEngine();

// The load that `gpus` replicas serve in time, at most that of 4.2 engines. Requests a second.
double DemoPeak(int gpus);

struct DemoScenario {
  LoadShape load;
  DemoServiceOptions service;
  ScaledObjectSpec scaled_object;
};

// `replicas` all the time...
ScalingCost CostOfStatic(const DemoScenario& scenario, int replicas, absl::Duration duration);
// ... and the formula of the Go scaler of the same name, woken by requests that wait.
ScalingCost CostOfGoScaler(const DemoScenario& scenario, absl::Duration duration);

}  // namespace gpuscaler
