// NodeTelemetry.WatchEngines: an agent tells its aggregators what the engines on its node say.
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

// Has a thread of its own, which waits for news. Thread-safe.
class EngineService {
 public:
  struct Counts {
    int readers = 0;  // now
    int64_t messages = 0;
    int64_t readings = 0;
    int64_t bytes = 0;  // of messages, without what gRPC and TCP add
  };

  // Both outlive it. Null: this agent looks for no engines, and says so.
  EngineService(const EngineServiceOptions& options, const Clock& clock, EngineLog* log);
  ~EngineService();  // waits for the last stream; after its server's end

  std::shared_ptr<ServerCall::Handler> Watch(const std::shared_ptr<ServerCall>& call);

  // Every stream ends with OK, now and from now on.
  void StopStreams();

  Counts counts() const;

 private:
  void Tick();

  EngineLog nothing_;  // of an agent that looks for none
  const bool looks_;
  EngineRoom room_;
  int64_t reported_ = 0;  // the thread's: the log's generation
  OpenReaders<EngineStream, EngineStream::OneWriteStream> streams_;
  std::unique_ptr<PeriodicThread> thread_;
};

}  // namespace gpuscaler
