// NodeTelemetry.WatchEngines: an agent sends its aggregators the readings of the engines on its
// node.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/periodic_thread.h"
#include "fleet/engine_log.h"
#include "fleet/engine_stream.h"
#include "fleet/open_readers.h"
#include "fleet/peer_addresses.h"

namespace gpuscaler {

struct EngineServiceOptions {
  absl::Duration heartbeat = absl::Milliseconds(1500);  // TelemetryOptions::heartbeat
  int max_readers = 64;
  PeerAddresses* aggregators = nullptr;  // TelemetryOptions::aggregators
  std::function<telemetry::v1::Node()> self;
};

// Has its own thread, which waits for changes. Thread-safe.
class EngineService {
 public:
  struct Counts {
    int readers = 0;  // now
    int64_t messages = 0;
    int64_t readings = 0;
    int64_t bytes = 0;  // size of the messages, without the overhead of gRPC and TCP
  };

  // `clock` and `log` must outlive it. `log` null: no discovery, and each call ends with
  // FAILED_PRECONDITION.
  EngineService(const EngineServiceOptions& options, const Clock& clock, EngineLog* log);
  ~EngineService();  // waits for the last stream; must run after the end of its server

  std::shared_ptr<ServerCall::Handler> Watch(const std::shared_ptr<ServerCall>& call);

  // Ends every stream with OK, now and from now on.
  void StopStreams();

  Counts counts() const;

 private:
  void Tick();

  EngineLog empty_log_;  // used without discovery
  const bool is_enabled_;
  EngineStreamContext context_;
  int64_t generation_ = 0;  // the thread's: the last generation of the log
  OpenReaders<EngineStream, EngineStream::OneWriteStream> streams_;
  std::unique_ptr<PeriodicThread> thread_;
};

}  // namespace gpuscaler
