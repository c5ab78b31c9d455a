// KEDA's ExternalScaler service: translates between gRPC messages and TriggerEvaluator.
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
#include "explain.pb.h"
#include "model/allowed_namespaces.h"
#include "model/fleet_reader.h"
#include "model/leases.h"
#include "serve/live_trigger.h"
#include "serve/profile_store.h"
#include "serve/request_metrics.h"
#include "serve/signal_access.h"
#include "serve/trigger_cache.h"
#include "wire/methods.h"

namespace gpuscaler {

struct ScalerServiceOptions {
  absl::Duration stale_after = absl::Seconds(6);
  absl::Duration grace = absl::Seconds(15);        // StalenessLimits
  absl::Duration forget_after = absl::Minutes(5);  // StalenessLimits
  AllowedNamespaces allowed_namespaces;
  std::set<std::string> namespaces;  // triggers of others are refused; empty: all are served
  int max_streams_per_peer = 20'000;
  // How long all of KEDA's calls for a trigger may go to another server behind the same name. It
  // counts as a gap between two requests.
  absl::Duration expected_gap;
  // How long a call waits for a fresh snapshot, in real time, before it returns UNAVAILABLE.
  absl::Duration snapshot_timeout = absl::Milliseconds(1500);
  // A stream ends with OK after this, +-20 %, so that clients rebalance over the servers.
  absl::Duration stream_lifetime = absl::Minutes(5);
  // Called at least every 100 ms by the thread that completes waiting calls and refreshes streams.
  // Must not block. May be null.
  std::function<void()> on_tick;
};

// Every call returns within 2 s and holds no thread while it waits. The server's own thread sends
// cached answers. Decisions and explanations run on other threads, where clients take turns.
// Thread-safe.
class ScalerService {
 public:
  // All references must outlive the service. Calls `wake_sampler` if a trigger needs a costly
  // reading that the newest snapshot does not have; it must not block.
  ScalerService(const ScalerServiceOptions& options, const Clock& clock, const FleetReader& fleets,
                Leases& leases, const ProfileStore& profiles, RequestMetrics& metrics,
                std::function<void()> wake_sampler, const SignalAccess& signals = {});
  ~ScalerService();  // requires StopStreams(), and that the gRPC server is destroyed

  // Serves ExternalScaler and Explainer.
  Methods methods();

  // Returns the triggers with a live lease, by namespace, ScaledObject and name. If several have
  // all three in common, returns the one that was requested last. Renews no lease.
  std::vector<LiveTrigger> LiveTriggers() const;
  // Returns those of one ScaledObject, without a look at the metadata of the others.
  std::vector<LiveTrigger> LiveTriggersOf(absl::string_view namespace_name,
                                          absl::string_view scaled_object) const;

  // Returns the decision that a request would get now, without waiting for a snapshot. Does not
  // prolong the trigger's lease, and leases what the decision needs as long as that one lasts.
  // Blocks for the time of a decision, so it must not run on a thread that answers KEDA.
  absl::StatusOr<std::shared_ptr<const CachedDecision>> Evaluate(const LiveTrigger& live) const;

  // Returns Explain's reply for `decision`, the result of Evaluate(). Reads all nodes, so it must
  // not run on a thread that answers KEDA.
  gpuscaler::v1::Explanation ExplanationOf(
      const LiveTrigger& live,
      const absl::StatusOr<std::shared_ptr<const CachedDecision>>& decision) const;

  // Returns how many calls wait for a snapshot.
  size_t waiting_calls() const;

  // Ends every stream with OK, completes waiting calls, and refuses new streams with UNAVAILABLE.
  void StopStreams();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gpuscaler
