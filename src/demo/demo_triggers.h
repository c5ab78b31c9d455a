// The ScaledObject of the demo: what its two triggers say.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "batching/engine_preset.h"
#include "serve/scaler_client.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// The profiles of what the demo's GPUs and engines show.
std::vector<std::string> DemoProfiles();

// How many replicas: by the profile. An engine is named where the profile reads one, with the
// preset's batch limit and time per token where its demand counts. INVALID_ARGUMENT: no such
// profile.
absl::StatusOr<TriggerRef> DemoTrigger(const std::string& profile, int engine_port,
                                       const EnginePreset& engine);

// Whether any: by the requests that the gateway holds while there is none.
TriggerRef DemandTrigger(int gateway_port);

// As lines of a ScaledObject.
std::string TriggerYaml(const TriggerRef& trigger, const std::string& scaler_address);

// As `query` takes it.
std::string QueryLine(const TriggerRef& trigger, const std::string& scaler_address);

}  // namespace gpuscaler
