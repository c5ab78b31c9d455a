// What --attribution comes to on this node.
#pragma once

#include <memory>

#include "app/config.h"
#include "base/clock.h"
#include "workload/attribution.h"

namespace gpuscaler {

// Null: a GPU in use is a replica, whoever holds it. Looks for the kubelet's socket once: that a
// kubelet is gone later makes owners unknown, and never this. `clock` outlives it.
std::unique_ptr<KubeletAttribution> OpenAttribution(const Config& config, const Clock& clock);

}  // namespace gpuscaler
