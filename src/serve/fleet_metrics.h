// What agents and aggregators count of each other, for the page Prometheus scrapes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "fleet/agent_stream.h"
#include "fleet/engine_service.h"
#include "fleet/engine_watch.h"
#include "fleet/fleet_store.h"
#include "fleet/telemetry_service.h"
#include "wire/wire_server.h"

namespace gpuscaler {

// The agents as an aggregator has them.
struct AgentsPage {
  std::vector<AgentStatus> agents;
  std::map<std::string, AgentStream::Counts> counts;  // by their addresses
  FleetStore::Listing listing;
  FleetStore::Conflicts conflicts;
};

// Each goes behind Metrics::Page(), in the same format. An agent that is forgotten has no series
// any more: there are four for each that is not.
std::string AgentsMetrics(const AgentsPage& page, absl::Time now);
std::string TelemetryMetrics(const TelemetryService::Counts& counts);
// Of the engines that agents find: as an agent tells of them, and as an aggregator hears.
std::string EngineReaderMetrics(const EngineService::Counts& counts);
std::string EngineStreamMetrics(const EngineWatch::Counts& counts);
// The gRPC server's connections and the limits that its clients hit; TLS handshakes that failed on
// either side, since the process began.
std::string GrpcMetrics(const WireServerCounts& counts);

}  // namespace gpuscaler
