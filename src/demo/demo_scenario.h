// The demo's load, and the cost of the same load under other ways of scaling, in simulation.
#pragma once

#include "absl/time/time.h"
#include "batching/batch_engine.h"
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
  int batch_limit = 4;
  absl::Duration request_time = absl::Seconds(20);
};

// Few tokens, so that each takes seconds: all engines share this machine. Their number in the batch
// changes nothing of their time.
inline constexpr EngineRequest kDemoRequest = {.prompt_tokens = 1, .max_tokens = 10};
BatchEngineOptions DemoBatch(const DemoServiceOptions& options);

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
