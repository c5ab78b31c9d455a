// Liveness and readiness.
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

// Live while all threads that answers depend on keep ticking. Ready from SetServing() to
// SetStopping(), whatever the state of the GPUs: a Service without endpoints would break every
// trigger. Thread-safe.
class Probes {
 public:
  // Each of `threads` counts as having ticked now. /healthz and the log show these names. `clock`
  // must outlive the probes.
  Probes(const Clock& clock, absl::Duration hang_after, const std::vector<std::string>& threads);

  // Must be called by each thread at intervals below `hang_after`.
  void Ticked(absl::string_view thread);
  void SetServing();  // no effect after SetStopping()
  void SetStopping();

  // Pages of an HttpServer: 200, or 503 with the reason.
  HttpReply Healthz() const;
  HttpReply Readyz() const;

 private:
  struct Watched {
    std::atomic<int64_t> ticked_at_ns;
    mutable std::atomic<bool> logged_hang = false;
  };

  // Logs a change.
  bool Hangs(const std::string& thread, const Watched& watched, absl::Duration age) const;

  const Clock& clock_;
  const absl::Duration hang_after_;
  std::map<std::string, Watched, std::less<>> watched_;  // keyed by name
  enum class State { kStarting, kServing, kStopping };
  std::atomic<State> state_ = State::kStarting;
};

}  // namespace gpuscaler
