// The agent: reads the GPUs of its node and sends the readings to aggregators.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "config/config.h"

namespace gpuscaler {

// Samples and sends from Start() to Drain(). Its other contracts are those of Standalone.
// Thread-safe.
class Agent {
 public:
  static absl::StatusOr<std::unique_ptr<Agent>> Start(const Config& config, const Clock& clock);
  ~Agent();

  int grpc_port() const;     // serves telemetry
  int metrics_port() const;  // 0: off
  int probe_port() const;    // 0: off

  void Reload();
  std::vector<std::string> Drain(absl::Duration timeout);

 private:
  class Impl;
  explicit Agent(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace gpuscaler
