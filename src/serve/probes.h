// Liveness and readiness (DESIGN 6).
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "serve/http_server.h"

namespace gpuscaler {

// Live while the threads without which no answer is right come round; ready from when it serves
// until it stops, whatever becomes of the GPUs: an empty Service would break every trigger.
// Thread-safe.
class Probes {
 public:
  // Live for `hang_after` from now on, until the first Ticked() of each of `threads`, whose names
  // these are to those who are told that one hangs. `clock` outlives the probes.
  Probes(const Clock& clock, absl::Duration hang_after, const std::vector<std::string>& threads);

  // By that thread, each time that it comes round.
  void Ticked(absl::string_view thread);
  void SetServing();  // of no effect once it stops
  void SetStopping();

  // Pages of an HttpServer: 200, or 503 that says why.
  HttpReply Healthz() const;
  HttpReply Readyz() const;

 private:
  struct Watched {
    std::atomic<int64_t> ticked_at_ns;
    mutable std::atomic<bool> said_hung = false;
  };

  // Whether it hangs; logged when that changes.
  bool Hangs(const std::string& thread, const Watched& watched, absl::Duration age) const;

  const Clock& clock_;
  const absl::Duration hang_after_;
  std::map<std::string, Watched, std::less<>> watched_;  // by name
  enum class State { kStarting, kServing, kStopping };
  std::atomic<State> state_ = State::kStarting;
};

}  // namespace gpuscaler
