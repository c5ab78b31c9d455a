// The options of engine discovery, from the configuration.
#pragma once

#include "config/config.h"
#include "discovery/engine_discovery.h"

namespace gpuscaler {

inline bool DiscoversEngines(const Config& config) {
  return config.discover_engines != DiscoverEngines::kFalse;
}

inline EngineDiscovery::Options DiscoveryOptionsOf(const Config& config) {
  return {.interval = config.engine_interval,
          .folders = {},
          .needs_pods_api = config.discover_engines == DiscoverEngines::kAuto};
}

}  // namespace gpuscaler
