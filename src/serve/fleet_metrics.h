// Prometheus metrics about agents, aggregators and the connections of clients.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "fleet/fleet_store.h"
#include "fleet/open_readers.h"
#include "fleet/reconnecting_call.h"
#include "wire/wire_server.h"

namespace gpuscaler {

// An aggregator's state of its agents.
struct AgentsPage {
  std::vector<AgentStatus> agents;
  std::map<std::string, StreamCounts> counts;  // keyed by address
  FleetStore::Faults faults;
  std::set<std::string> namespaces;  // --namespaces; empty: all
};

// All return text to append to Metrics::Page(), in the same format.

// Has four series for each agent that is not forgotten.
std::string AgentsMetrics(const AgentsPage& page, absl::Time now);
std::string TelemetryMetrics(const ReaderCounts& counts);
// Readings of discovered engines: sent by an agent, and received by an aggregator.
std::string EngineReaderMetrics(const ReaderCounts& counts);
std::string EngineStreamMetrics(int open_streams, const StreamCounts& counts);
// The gRPC server's connections, the limits that its clients hit, and TLS handshakes that failed on
// either side since the process began.
std::string GrpcMetrics(const WireServerCounts& counts);
std::string WebMetrics(int64_t refused_replies);

}  // namespace gpuscaler
