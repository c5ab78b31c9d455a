// Resolves --attribution on this node.
#pragma once

#include <memory>

#include "base/clock.h"
#include "role/config.h"
#include "workload/attribution.h"

namespace gpuscaler {

// Returns the configured mode, and for kAuto the one that fits this node. Checks the kubelet's
// socket once, and logs a warning if its path has another kind of file. If the path is not
// accessible, returns kKubelet, so that the kubelet's error is reported.
AttributionMode AttributionHere(const Config& config);

// Returns null if the mode is not kKubelet. The socket is checked only here: if the kubelet
// disappears later, owners become unknown. `clock` must outlive the result.
std::unique_ptr<KubeletAttribution> OpenAttribution(const Config& config, const Clock& clock);

}  // namespace gpuscaler
