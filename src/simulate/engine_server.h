// A simulated vLLM server: completions that take realistic time, and metrics.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/bound_port.h"
#include "base/clock.h"
#include "simulate/batch_engine.h"
#include "simulate/engine_fault.h"

namespace gpuscaler {

struct EngineServerOptions {
  std::string model = "stand-in";
  BatchEngineOptions batch;
  EngineFault fault = EngineFault::kNone;
  int fault_after = 0;          // completions accepted before the fault
  std::function<void()> crash;  // used for kCrash; must not return
};

// Serves POST /v1/completions and /v1/chat/completions, GET /health, /v1/models, /version and
// /metrics. A pending request uses a socket and some memory, but no thread. Thread-safe.
class EngineServer {
 public:
  // Listens on `port`. Returns UNAVAILABLE if it cannot. `clock` must outlive the server.
  static absl::StatusOr<std::unique_ptr<EngineServer>> Start(EngineServerOptions options,
                                                             BoundPort port, const Clock& clock);
  virtual ~EngineServer() = default;  // ends pending requests unserved

  virtual EngineGauges Gauges() const = 0;
  virtual EngineTotals Totals() const = 0;

  // Closes the listening socket, and replies 503 on open connections.
  virtual void StopAccepting() = 0;

  // Returns true once all accepted requests are answered, or false after `timeout`.
  virtual bool WaitUntilAnswered(absl::Duration timeout) = 0;
};

}  // namespace gpuscaler
