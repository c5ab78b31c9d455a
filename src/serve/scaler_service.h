// KEDA's ExternalScaler service: translates between the wire and Decide, and decides nothing
// itself.
#pragma once

#include <functional>
#include <memory>

#include "absl/time/time.h"
#include "base/clock.h"
#include "model/allowed_namespaces.h"
#include "serve/profile_store.h"
#include "serve/request_metrics.h"
#include "serve/signal_access.h"
#include "store/fleet_reader.h"
#include "store/leases.h"
#include "wire/methods.h"

namespace gpuscaler {

struct ScalerServiceOptions {
  absl::Duration stale_after = absl::Seconds(6);
  absl::Duration grace = absl::Seconds(15);        // StalenessLimits
  absl::Duration forget_after = absl::Minutes(5);  // StalenessLimits
  AllowedNamespaces allowed_namespaces;
  int max_streams_per_peer = 20'000;
  // Without a fresh snapshot a call waits this long for one, in real time, then UNAVAILABLE.
  absl::Duration snapshot_timeout = absl::Milliseconds(1500);
  // A stream ends with OK after this, +-20 %, so that clients spread over the servers again.
  absl::Duration stream_lifetime = absl::Minutes(5);
  // Called by the thread that answers what waits and looks after the streams, each time that it
  // comes round: every 100 ms at least. Must not block. Null: nobody asks.
  std::function<void()> came_round;
};

// Every call is answered within 2 s and holds no thread while it waits. An answer that is known is
// sent by the server's own thread. Decisions and explanations are made on others, where clients
// take turns. Thread-safe.
class ScalerService {
 public:
  // All references outlive the service. Wakes `wake_sampler` when a costly reading that the newest
  // snapshot lacks is asked for; it must not block.
  ScalerService(const ScalerServiceOptions& options, const Clock& clock, const FleetReader& fleets,
                Leases& leases, const ProfileStore& profiles, RequestMetrics& metrics,
                std::function<void()> wake_sampler, const SignalAccess& signals = {});
  ~ScalerService();  // after StopStreams(), and after the gRPC server has gone

  // Serves ExternalScaler and Explainer.
  Methods methods();

  // How many calls wait for a snapshot.
  size_t waiting_calls() const;

  // Ends every stream with OK, answers what waits, and refuses new streams with UNAVAILABLE.
  void StopStreams();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gpuscaler
