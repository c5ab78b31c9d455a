// The aggregator: receives the readings of all agents, and answers KEDA for the whole fleet.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "config/config.h"

namespace gpuscaler {

// Receives and serves from Start() to Drain(). Its other contracts are those of Standalone.
// Thread-safe.
class Aggregator {
 public:
  static absl::StatusOr<std::unique_ptr<Aggregator>> Start(const Config& config,
                                                           const Clock& clock);
  ~Aggregator();

  int grpc_port() const;
  int metrics_port() const;  // 0: off
  int probe_port() const;    // 0: off

  void Reload();
  std::vector<std::string> Drain(absl::Duration timeout);

 private:
  class Impl;
  explicit Aggregator(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace gpuscaler
