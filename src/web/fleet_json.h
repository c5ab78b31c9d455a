// The fleet as JSON: a compact list of all GPUs, and the details of one node. Pure functions.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "model/fleet_history.h"
#include "model/staleness_limits.h"

namespace gpuscaler {

// Returns /api/v1/fleet (docs/api.yaml): about 25 bytes per GPU.
std::string FleetJson(const FleetHistory& fleet, const StalenessLimits& staleness, absl::Time now,
                      const std::string& instance);

// Returns /api/v1/fleet/NODE, or NOT_FOUND.
absl::StatusOr<std::string> NodeJson(const FleetHistory& fleet, const StalenessLimits& staleness,
                                     absl::Time now, const std::string& node);

// GPUs that are divided into instances count as their instances.
int CountShownGpus(const FleetHistory& fleet);

// Returns why parts of the fleet are unknown, or "".
std::string WhyPartial(const FleetHistory& fleet, const StalenessLimits& staleness, absl::Time now);

}  // namespace gpuscaler
