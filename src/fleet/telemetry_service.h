// NodeTelemetry: an agent sends its aggregators the readings of its node's GPUs, and of the engines
// on it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/clock.h"
#include "fleet/engine_log.h"
#include "fleet/open_readers.h"
#include "fleet/peer_addresses.h"
#include "model/pod.h"
#include "store/leases.h"
#include "store/snapshot_store.h"
#include "wire/methods.h"

namespace gpuscaler {

struct TelemetryOptions {
  absl::Duration horizon;  // the longest past that a new reader can get
  // Without changes a reader gets a message this often. A third of the 5 s after which a reading is
  // stale at the earliest.
  absl::Duration heartbeat = absl::Milliseconds(1500);
  int max_readers = 64;       // two aggregators and their successors, with a wide margin
  std::string version;        // this program's
  absl::Duration read_every;  // the sampler's interval; zero: not sent
  // The engines found on the node. Must outlive the service. Null: no discovery, and each call for
  // engines ends with FAILED_PRECONDITION.
  EngineLog* engines = nullptr;
  // Readers that come first if all places are taken. Must outlive the service. Null: no address
  // does.
  PeerAddresses* aggregators = nullptr;
  // Receives the pods of the node before the agent began, from readers with a certificate or an
  // address of `aggregators`. Null: they are dropped.
  std::function<void(std::vector<Pod>)> former_pods;
};

// Has its own threads: one waits for the next reading, one for changes of the engines. Thread-safe.
class TelemetryService {
 public:
  // All references must outlive it. Calls `wake_sampler` when a reader subscribes to a costly
  // reading that the newest snapshot may not have.
  TelemetryService(const TelemetryOptions& options, const Clock& clock, const SnapshotStore& store,
                   Leases& leases, std::function<void()> wake_sampler);
  ~TelemetryService();  // must run after the end of its server

  // Serves NodeTelemetry.
  Methods methods();

  // Ends every stream with OK, now and from now on. Must be called before the store is closed.
  void StopStreams();

  ReaderCounts counts() const;         // Watch
  ReaderCounts engine_counts() const;  // WatchEngines

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gpuscaler
