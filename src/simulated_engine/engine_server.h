// A simulated vLLM server: completions that take their time, and pages about it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/bound_port.h"
#include "base/clock.h"
#include "batching/batch_engine.h"
#include "simulated_engine/engine_fault.h"

namespace gpuscaler {

struct EngineServerOptions {
  std::string model = "stand-in";
  BatchEngineOptions batch;
  EngineFault fault = EngineFault::kNone;
  int fault_after = 0;          // completions that are taken before
  std::function<void()> crash;  // for kCrash; does not return
};

// POST /v1/completions and /v1/chat/completions, GET /health, /v1/models, /version and /metrics.
// No request has a thread of its own: those held cost a socket and some memory each. Thread-safe.
class EngineServer {
 public:
  // Listens on `port`. UNAVAILABLE when it cannot. `clock` outlives it.
  static absl::StatusOr<std::unique_ptr<EngineServer>> Start(EngineServerOptions options,
                                                             BoundPort port, const Clock& clock);
  virtual ~EngineServer() = default;  // ends what is held, unserved

  virtual EngineGauges Gauges() const = 0;
  virtual EngineTotals Totals() const = 0;

  // Takes no more connections, and answers 503 on those that are open.
  virtual void StopTaking() = 0;

  // Until everything that was taken is answered: true. False after `patience`.
  virtual bool WaitUntilAnswered(absl::Duration timeout) = 0;
};

}  // namespace gpuscaler
