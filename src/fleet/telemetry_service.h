// NodeTelemetry: an agent tells its aggregators what its node's GPUs show, and (EngineService) what
// the engines on it say.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/clock.h"
#include "fleet/engine_log.h"
#include "fleet/engine_service.h"
#include "fleet/peer_addresses.h"
#include "model/pod.h"
#include "store/leases.h"
#include "store/snapshot_store.h"
#include "wire/methods.h"

namespace gpuscaler {

struct TelemetryOptions {
  absl::Duration horizon;  // how far back a new reader can be told of
  // Without news a reader hears so often that we are there. A third of the 5 s after which a
  // reading is stale at the earliest (DESIGN 6).
  absl::Duration heartbeat = absl::Milliseconds(1500);
  int max_readers = 64;       // two aggregators and those that follow them, with a wide margin
  std::string version;        // of this program
  absl::Duration read_every;  // the sampler's interval; zero: not to be told
  // What is found on the node; outlives the service. Null: nobody looks.
  EngineLog* engines = nullptr;
  // Come first if all places of readers are taken; outlives the service. Null: no address does.
  PeerAddresses* aggregators = nullptr;
  // Gets pods of the node before the agent began, from readers with a certificate or an address of
  // `aggregators`. Null: they are not needed.
  std::function<void(std::vector<Pod>)> former_pods;
};

// Has a thread of its own, which waits for the next reading. Thread-safe.
class TelemetryService {
 public:
  struct Counts {
    int readers = 0;  // now
    int64_t messages = 0;
    int64_t heartbeats = 0;  // of them, those without a reading
    int64_t bytes = 0;       // of messages, without what gRPC and TCP add
    int64_t refused_as_too_many = 0;
    int64_t refused_as_stopping = 0;

    int64_t refused() const { return refused_as_too_many + refused_as_stopping; }
  };

  // All references outlive it. `wake_sampler` is called when a costly reading is wanted that the
  // newest snapshot may lack.
  TelemetryService(const TelemetryOptions& options, const Clock& clock, const SnapshotStore& store,
                   Leases& leases, std::function<void()> wake_sampler);
  ~TelemetryService();  // after its server's end

  // Serves NodeTelemetry.
  Methods methods();

  // Every stream ends with OK, now and from now on. To be called before the store is closed.
  void StopStreams();

  Counts counts() const;
  EngineService::Counts engine_counts() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gpuscaler
