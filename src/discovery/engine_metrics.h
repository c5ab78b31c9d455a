// What is counted of the engines that are found on this node, for the page Prometheus scrapes.
#pragma once

#include <string>

#include "discovery/engine_discovery.h"

namespace gpuscaler {

// Behind Metrics::Page(), in the same format.
std::string EngineMetrics(const EngineDiscovery::Counts& counts);

}  // namespace gpuscaler
