// Scalers of other setups, on one number of the workload.
#pragma once

#include <functional>

#include "simulate/replica_policy.h"

namespace gpuscaler {

// The trigger is active while the number is above 0.
KedaTrigger Recipe(std::function<double(const SimulatedWorkload&)> query, double target,
                   TargetType type = TargetType::kAverageValue);

// Wakes the first replica: 1 while requests wait at the router, against a target of 1.
KedaTrigger HeldRequestsRecipe();
// The Go scaler's profile vllm-inference: the highest memory_used_percent of all GPUs against 80.
KedaTrigger GoScalerTrigger();

}  // namespace gpuscaler
