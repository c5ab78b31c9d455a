// Checks that the keys of a trigger's sources besides GPUs fit together.
#pragma once

#include <vector>

#include "trigger/trigger.h"
#include "trigger/trigger_keys.h"

namespace gpuscaler {

struct Fault;

// Returns a fault for each key that the trigger's metric type cannot use, that it lacks, or that
// contradicts another one. `trigger` is that of the settings. Its profile and metric type must have
// no fault.
std::vector<Fault> SourceFaults(const Metadata& metadata, const Settings& settings,
                                const Trigger& trigger);

}  // namespace gpuscaler
