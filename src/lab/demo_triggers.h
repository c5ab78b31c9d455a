// The two triggers of the demo's ScaledObject.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "serve/scaler_client.h"
#include "simulate/engine_preset.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// The ScaledObject, and the Deployment that it scales.
inline constexpr char kDemoNamespace[] = "default";
inline constexpr char kDemoName[] = "llm";

// Returns the profiles with metrics that the demo's GPUs and engines have.
std::vector<std::string> DemoProfiles();

// Returns the trigger that sets the number of replicas, by the profile. It names an engine if the
// profile reads one, with the preset's batch limit and time per token if demand counts. Returns
// INVALID_ARGUMENT if the profile does not exist.
absl::StatusOr<TriggerRef> DemoTrigger(const std::string& profile, int engine_port,
                                       const EnginePreset& engine);

// Returns the trigger that wakes the workload from zero, on requests held by the gateway.
TriggerRef DemandTrigger(int gateway_port);

std::string TriggerYaml(const TriggerRef& trigger, const std::string& scaler_address);

// Returns the arguments of keda-gpu-scaler that query the trigger.
std::string QueryArguments(const TriggerRef& trigger, const std::string& scaler_address);

}  // namespace gpuscaler
