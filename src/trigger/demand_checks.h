// Whether the keys of a trigger's demand go together.
#pragma once

#include <vector>

#include "trigger/trigger.h"
#include "trigger/trigger_keys.h"

namespace gpuscaler {

struct Fault;

// Keys that the trigger's metric type cannot use, that it lacks, or that contradict each other.
// `trigger` is what the settings ask for, its profile and metric type without fault.
std::vector<Fault> DemandFaults(const Metadata& metadata, const Settings& settings,
                                const Trigger& trigger);

}  // namespace gpuscaler
