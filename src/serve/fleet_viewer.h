// FleetViewer: shows the operator every node, whoever holds its GPUs.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/worker_threads.h"
#include "fleet/fleet_store.h"
#include "fleetview.pb.h"
#include "scaling/node_view.h"
#include "store/fleet_reader.h"
#include "wire/methods.h"

namespace gpuscaler {

// Pure. `fleet` and `agents` as they are at `now`.
gpuscaler::v1::FleetView FleetViewOf(const absl::StatusOr<FleetReader::Fleet>& fleet,
                                     const std::vector<AgentStatus>& agents,
                                     const StalenessLimits& staleness, absl::Time now);

// Returns true if `peer` (CallHeaders) is 127.0.0.1, ::1 or a unix socket. Not the rest of
// 127.0.0.0/8: the proxies of service meshes hand on what comes from elsewhere as 127.0.0.6.
bool IsOnThisHost(absl::string_view peer);

struct FleetViewerOptions {
  StalenessLimits staleness;
  std::string version;                               // of this program
  std::function<std::vector<AgentStatus>()> agents;  // null: there are none
};

// Thread-safe.
class FleetViewer {
 public:
  // References outlive it.
  FleetViewer(FleetViewerOptions options, const Clock& clock, const FleetReader& fleets);

  // It must outlive the server of these.
  Methods methods() const;

 private:
  const FleetViewerOptions options_;
  const Clock& clock_;
  const FleetReader& fleets_;
  mutable WorkerThreads showing_{"showing", 1};  // a fleet of thousands of nodes takes a second
};

}  // namespace gpuscaler
