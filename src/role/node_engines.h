// How the configuration has a node look for inference engines.
#pragma once

#include "config/config.h"
#include "discovery/engine_discovery.h"

namespace gpuscaler {

inline bool LooksForEngines(const Config& config) {
  return config.discover_engines != DiscoverEngines::kFalse;
}

inline EngineDiscovery::Options DiscoveryOptionsOf(const Config& config) {
  return {.interval = config.engine_interval,
          .folders = {},
          .needs_pods_api = config.discover_engines == DiscoverEngines::kAuto};
}

}  // namespace gpuscaler
