// Engines and their readings, for tests.
#pragma once

#include <string>
#include <vector>

#include "signal/found_engines.h"

namespace gpuscaler {

inline EngineAddress TestPlace(const std::string& pod, int port = 8000,
                               const std::string& namespace_name = "team-a") {
  return {.address = "10.0.0.1", .port = port, .namespace_name = namespace_name, .pod = pod};
}

inline EngineUpdate TestUpdates(absl::Time at, double running) {
  return {.at = at,
          .engine = "vllm",
          .reading = EngineReading{{{.model = "llama", .waiting = 0, .running = running}}}};
}

inline NodeEngines TestEngines(const std::vector<EngineAddress>& engines,
                               const std::vector<std::string>& namespaces = {"team-a"}) {
  NodeEngines found;
  for (const std::string& name : namespaces) found.namespaces[name];
  for (const EngineAddress& place : engines) found.Add(place);
  return found;
}

inline EngineSubscription SubscribedIn(const std::string& namespace_name,
                                       absl::Duration look_back = absl::Minutes(1),
                                       bool histograms = false) {
  EngineSubscription wanted;
  wanted.namespaces[namespace_name] = {.histograms = histograms, .look_back = look_back};
  return wanted;
}

}  // namespace gpuscaler
