// Agent and aggregator in one process: the GPUs of this node, and KEDA's questions about them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "config/config.h"
#include "role/demand_reading.h"

namespace gpuscaler {

// Sampling and serving from Start() to Drain(). Thread-safe.
//
//   const SteadyClock clock;
//   ASSIGN_OR_RETURN(const auto standalone, Standalone::Start(config, clock));
//   WaitForTermination();
//   standalone->Drain(absl::Seconds(5));
class Standalone {
 public:
  // Serving when it returns; the first reading may still be under way. `clock` dates the readings,
  // may run faster than real time, and outlives it. INVALID_ARGUMENT: the configuration cannot work
  // (TLS files, profiles, GPU source); UNAVAILABLE: an address cannot be bound.
  static absl::StatusOr<std::unique_ptr<Standalone>> Start(
      const Config& config, const Clock& clock, const DemandSurroundings& surroundings = {});
  ~Standalone();

  int grpc_port() const;
  int metrics_port() const;  // 0: off
  int probe_port() const;    // 0: off

  // Reads certificates and profiles again at once. Never blocks.
  void Reload();

  // Not ready, streams end with OK, RPCs finish, no further reading; once. Names the threads that
  // still hang after `patience` ("sampler": in the driver, "reloader": in a file system,
  // "kubelet"): the destructor would then wait for them for ever, and only the end of the process
  // helps.
  std::vector<std::string> Drain(absl::Duration timeout);

 private:
  class Impl;
  explicit Standalone(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace gpuscaler
