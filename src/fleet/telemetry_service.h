// NodeTelemetry: an agent sends its aggregators the readings of its node's GPUs, and of the engines
// on it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/periodic_thread.h"
#include "fleet/engine_log.h"
#include "fleet/engine_stream.h"
#include "fleet/open_readers.h"
#include "fleet/peer_addresses.h"
#include "fleet/reader_stream.h"
#include "fleet/telemetry_log.h"
#include "fleet/watch_stream.h"
#include "model/leases.h"
#include "model/pod.h"
#include "model/snapshot_store.h"
#include "telemetry.pb.h"
#include "wire/methods.h"

namespace gpuscaler {

struct TelemetryOptions {
  absl::Duration horizon;  // the longest past that a new reader can get
  // Without changes a reader gets a message this often: a third of 5 s, the shortest --stale-after.
  absl::Duration heartbeat = absl::Milliseconds(1500);
  int max_readers = 64;       // two aggregators and their successors, with a wide margin
  std::string version;        // this program's
  absl::Duration read_every;  // the sampler's interval; zero: not sent
  // The engines found on the node. Must outlive the service. Null: no discovery, and each call for
  // engines ends with FAILED_PRECONDITION.
  EngineLog* engines = nullptr;
  // Readers at these addresses have a higher rank (OpenReaders). Must outlive the service. Null:
  // addresses do not count.
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
  std::shared_ptr<WatchStream> Watch(const std::shared_ptr<ServerCall>& call);
  absl::StatusOr<std::shared_ptr<const TelemetryLog>> LogOf(const std::set<std::string>& namespaces,
                                                            const WatchStream& reader);
  std::shared_ptr<EngineStream> WatchEngines(const std::shared_ptr<ServerCall>& call);
  void SendReadings();
  void SendEngines();
  std::string Trouble() const;
  void RenewLease(const telemetry::v1::Subscription& subscription);
  void TakeFormerPods(const telemetry::v1::Subscription& subscription);

  const Clock& clock_;
  const SnapshotStore& store_;
  Leases& leases_;
  const std::function<void()> wake_sampler_;
  EngineLog* const engine_log_;  // null: no discovery
  PeerAddresses* const aggregators_;
  const std::function<void(std::vector<Pod>)> former_pods_;
  TelemetryLog log_;
  ReaderContext context_;
  ReaderContext engine_context_;
  OpenReaders<WatchStream> streams_;
  OpenReaders<EngineStream> engine_streams_;
  int64_t generation_ = 0;         // thread_'s: the newest reading of log_
  int64_t engine_generation_ = 0;  // engine_thread_'s: the last change of engine_log_
  std::unique_ptr<PeriodicThread> thread_;
  std::unique_ptr<PeriodicThread> engine_thread_;  // null: no discovery
};

}  // namespace gpuscaler
