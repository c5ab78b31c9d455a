// A replica of the demo's service: a simulated engine with its own GPU.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "simulate/engine_busy.h"
#include "simulate/engine_server.h"
#include "simulate/gpu_slot.h"

namespace gpuscaler {

struct DemoReplicaOptions {
  int number = 0;  // another for each replica; not negative
  int gpu = 0;
  int port = 0;  // not 0
  EngineServerOptions engine;
  absl::Duration load_time;  // real time, as all times here
  double memory_percent = 90;
};

// Loads, serves, and ends after Leave() when its requests are answered. Not thread-safe.
class DemoReplica {
 public:
  // Begins to load. `clock` must outlive it. Returns UNAVAILABLE if the port is not free.
  static absl::StatusOr<std::unique_ptr<DemoReplica>> Start(const DemoReplicaOptions& options,
                                                            const Clock& clock);

  // Starts to serve once the model is loaded. Returns UNAVAILABLE if it cannot.
  absl::Status Tick();

  bool ready() const { return server_ != nullptr && !leaving_; }
  bool leaving() const { return leaving_; }
  int number() const { return options_.number; }
  int gpu() const { return options_.gpu; }
  // A loopback address of its own. Others get it after tens of thousands of replicas, because the
  // scaler identifies an engine's pod by its address.
  std::string address() const;
  std::string Url() const;
  EngineGauges Requests() const;
  GpuReport Gpu();  // mean since the last call

  // Accepts no more requests. Those already accepted are still answered.
  void Leave();
  bool HasLeft() const;  // all requests are answered

 private:
  DemoReplica(const DemoReplicaOptions& options, BoundPort port, const Clock& clock);

  const DemoReplicaOptions options_;
  const Clock& clock_;
  const absl::Time started_at_;
  std::optional<BoundPort> bound_;        // until it serves
  std::unique_ptr<EngineServer> server_;  // null: loading
  EngineBusy busy_;
  bool leaving_ = false;
};

}  // namespace gpuscaler
