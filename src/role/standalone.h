// The standalone scaler: reads the GPUs of this node and answers KEDA about them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "config/config.h"
#include "role/signal_reader.h"

namespace gpuscaler {

// Samples and serves from Start() to Drain(). Thread-safe.
//
//   const SteadyClock clock;
//   ASSIGN_OR_RETURN(const auto standalone, Standalone::Start(config, clock));
//   termination.Wait();
//   standalone->Drain(absl::Seconds(5));
class Standalone {
 public:
  // Serves when it returns; the first reading may still be running. `clock` timestamps the readings
  // and may run faster than real time; it must outlive the result. Returns INVALID_ARGUMENT if the
  // TLS files, profiles or GPU source are unusable, and UNAVAILABLE if an address cannot be bound.
  static absl::StatusOr<std::unique_ptr<Standalone>> Start(const Config& config, const Clock& clock,
                                                           const DemoOverrides& overrides = {});
  ~Standalone();

  int grpc_port() const;
  int metrics_port() const;  // 0: off
  int probe_port() const;    // 0: off

  // Reloads certificates and profiles at once, on another thread. Never blocks.
  void Reload();

  // Becomes unready, ends streams with OK, waits for RPCs and stops reading. Only the first call
  // has an effect. Returns the names of the threads that still run after `timeout`, for example
  // "sampler" (in the driver), "reloader" (in a file system), "kubelet" or "duplicate check" (in a
  // network call). The destructor would then block for ever, and only the end of the process helps.
  std::vector<std::string> Drain(absl::Duration timeout);

 private:
  class Impl;
  explicit Standalone(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace gpuscaler
