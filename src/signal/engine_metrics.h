// Prometheus metrics about the engines discovered on this node.
#pragma once

#include <string>

#include "signal/engine_discovery.h"

namespace gpuscaler {

// The text is appended to Metrics::Page(), in the same format.
std::string EngineMetrics(const EngineDiscovery::Counts& counts);

}  // namespace gpuscaler
