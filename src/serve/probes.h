// Liveness and readiness (DESIGN 6).
#pragma once

#include <atomic>
#include <string>

#include "absl/time/time.h"
#include "base/clock.h"
#include "serve/http_server.h"

namespace gpuscaler {

// Live while the thread without which no answer is right comes round; ready from when it serves
// until it stops, whatever becomes of the GPUs: an empty Service would break every trigger.
// Thread-safe.
class Probes {
 public:
  // Live for `hang_after` from now on, until the first Ticked(). `thread` is its name to those who
  // are told that it hangs. `clock` outlives the probes.
  Probes(const Clock& clock, absl::Duration hang_after, std::string thread);

  void Ticked();      // by the thread, each time that it comes round
  void SetServing();  // of no effect once it stops
  void SetStopping();

  // Pages of an HttpServer: 200, or 503 that says why.
  HttpReply Healthz() const;
  HttpReply Readyz() const;

 private:
  const Clock& clock_;
  const absl::Duration hang_after_;
  const std::string thread_;
  std::atomic<int64_t> ticked_at_ns_;
  enum class State { kStarting, kServing, kStopping };
  std::atomic<State> state_ = State::kStarting;
  mutable std::atomic<bool> said_hung_ = false;
};

}  // namespace gpuscaler
