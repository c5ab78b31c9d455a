// Detects since when the requests that an engine reports have not changed.
//
// After a mass abort vLLM 0.9.1 to 0.10.1 keeps exporting the last numbers of waiting requests,
// running requests and the cache (vLLM #22545). The engine updates them in each step, and without
// requests it makes no step. Such a replica is idle but looks busy, and would never be scaled in.
// If its GPUs are idle as well, it has no requests. Later versions report 0 (the scheduler of
// 0.10.2 does so, and 0.32 was observed to).
#pragma once

#include <optional>

#include "absl/time/time.h"
#include "engine/engine_reading.h"

namespace gpuscaler {

// One model, or the sum of several. Not thread-safe.
class StalledEngineDetector {
 public:
  // `at` must be later than in all calls before.
  void Take(absl::Time at, const ModelReading& reading);

  // Returns the time of the first reading with the present numbers of requests and counters.
  // Between two equal readings nothing was served, even if they are far apart: counters only grow.
  // Returns nullopt if the engine has no requests, or reports no counter that moves with every
  // served request.
  std::optional<absl::Time> Since() const { return since_; }

 private:
  std::optional<absl::Time> since_;
  ModelReading last_;
};

}  // namespace gpuscaler
