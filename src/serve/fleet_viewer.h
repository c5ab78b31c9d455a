// The FleetViewer service: shows the operator all nodes and the pods of all namespaces on them.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/worker_threads.h"
#include "fleet/fleet_store.h"
#include "fleetview.pb.h"
#include "model/fleet_reader.h"
#include "scaling/node_view.h"
#include "wire/methods.h"

namespace gpuscaler {

// Pure function.
gpuscaler::v1::FleetView FleetViewOf(const absl::StatusOr<FleetReader::FleetPtr>& fleet,
                                     const std::vector<AgentStatus>& agents,
                                     const StalenessLimits& staleness, absl::Time now);

// Returns true if `peer` (CallHeaders) is 127.0.0.1, ::1 or a unix socket. The rest of 127.0.0.0/8
// is excluded, because proxies of service meshes forward remote connections from 127.0.0.6.
bool IsOnThisHost(absl::string_view peer);

struct FleetViewerOptions {
  StalenessLimits staleness;
  std::string version;                               // this program's
  std::function<std::vector<AgentStatus>()> agents;  // null: no agents
  std::set<std::string> namespaces;                  // with readings; empty: all
};

// Thread-safe.
class FleetViewer {
 public:
  // References must outlive it.
  FleetViewer(FleetViewerOptions options, const Clock& clock, const FleetReader& fleets);

  // The viewer must outlive the server of these methods.
  Methods methods() const;

 private:
  const FleetViewerOptions options_;
  const Clock& clock_;
  const FleetReader& fleets_;
  mutable WorkerThreads showing_{"showing", 1};  // a fleet of thousands of nodes takes a second
};

}  // namespace gpuscaler
