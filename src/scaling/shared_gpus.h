// Notes on how pods divide the load of shared GPUs.
#pragma once

#include <string>
#include <vector>

#include "model/fleet_history.h"
#include "scaling/decision.h"

namespace gpuscaler {

// Returns a note for each kind of evidence (SharedBy), with the shared GPUs of the contributions'
// replicas.
std::vector<std::string> SharedGpuNotes(const FleetHistory& fleet,
                                        const std::vector<Contribution>& contributions);

}  // namespace gpuscaler
