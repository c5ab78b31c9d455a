// How the load of GPUs that several pods hold is divided, in words.
#pragma once

#include <string>
#include <vector>

#include "model/fleet_history.h"
#include "scaling/decision.h"

namespace gpuscaler {

// Returns a note for each kind of evidence (SharedBy), with the GPUs of the contributions' replicas
// that it divides now.
std::vector<std::string> SharedGpuNotes(const FleetHistory& fleet,
                                        const std::vector<Contribution>& contributions);

}  // namespace gpuscaler
