// A replica of the demo's service: a simulated engine with a GPU of its own.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "simulated_engine/engine_busy.h"
#include "simulated_engine/engine_server.h"
#include "simulated_engine/gpu_slot.h"

namespace gpuscaler {

struct DemoReplicaOptions {
  std::string address;  // where it listens
  int port = 0;         // 0: any free one
  EngineServerOptions engine;
  absl::Duration load_time;  // real, as all times here
  double memory_percent = 90;
};

// Loads, serves, and ends once it is told to and has answered what it took. Not thread-safe.
class DemoReplica {
 public:
  // `clock` outlives it. Begins to load. UNAVAILABLE: the port cannot be had.
  static absl::StatusOr<std::unique_ptr<DemoReplica>> Start(const DemoReplicaOptions& options,
                                                            const Clock& clock);

  // Serves once the model is loaded. UNAVAILABLE when it cannot.
  absl::Status Tick();

  bool ready() const { return server_ != nullptr && !leaving_; }
  int port() const { return port_; }
  std::string Url() const;
  EngineGauges Requests() const;
  GpuShown Gpu();  // since it was last asked

  // It gets no more requests; whatever it still has to answer.
  void Leave();
  bool HasLeft() const;  // nothing holds it any more

 private:
  DemoReplica(const DemoReplicaOptions& options, BoundPort port, const Clock& clock);

  const DemoReplicaOptions options_;
  const Clock& clock_;
  const absl::Time started_at_;
  const int port_;
  std::optional<BoundPort> bound_;        // until it serves
  std::unique_ptr<EngineServer> server_;  // null: it loads
  EngineBusy busy_;
  bool leaving_ = false;
};

}  // namespace gpuscaler
