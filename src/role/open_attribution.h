// What --attribution comes to on this node.
#pragma once

#include <memory>

#include "base/clock.h"
#include "config/config.h"
#include "workload/attribution.h"

namespace gpuscaler {

// kAuto decided: what is there in the socket's place is looked at once, and a warning logged where
// that is no socket. Neither kNone nor kPage for what may not be seen: the kubelet is asked then,
// and what it says to that is told.
AttributionMode AttributionHere(const Config& config);

// Null: the kubelet is not asked. Looks for the kubelet's socket once: that a
// kubelet is gone later makes owners unknown, and never this. `clock` outlives it.
std::unique_ptr<KubeletAttribution> OpenAttribution(const Config& config, const Clock& clock);

}  // namespace gpuscaler
