// The agent: reads the GPUs of its node, and tells aggregators what it read.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "config/config.h"

namespace gpuscaler {

// Sampling and telling from Start() to Drain(); otherwise as Standalone. Thread-safe.
class Agent {
 public:
  static absl::StatusOr<std::unique_ptr<Agent>> Start(const Config& config, const Clock& clock);
  ~Agent();

  int grpc_port() const;     // of telemetry
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
