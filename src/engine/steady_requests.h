// Since when the requests that an engine reports have not moved.
//
// After a mass abort vLLM 0.9.1 to 0.10.1 keeps the last numbers of waiting and running requests,
// and of the cache, until the next step, which no request causes (vLLM #22545): a replica that is
// idle and would never be scaled in. If its GPUs are idle as well, it has no requests. Later
// versions report 0 (read in the scheduler of 0.10.2, seen in 0.32).
#pragma once

#include <optional>

#include "absl/time/time.h"
#include "engine/engine_reading.h"

namespace gpuscaler {

// Of one model, or of several added up. Not thread-safe.
class SteadyRequests {
 public:
  // Later than all before.
  void Take(absl::Time at, const ModelReading& reading);

  // The first of the readings that found the numbers of requests and the counters as they are now.
  // Between two equal ones nothing was served, be they far apart: counters only grow. Empty: it has
  // no requests, or tells none of the counters that move with every request that is served.
  std::optional<absl::Time> Since() const { return since_; }

 private:
  std::optional<absl::Time> since_;
  ModelReading last_;
};

}  // namespace gpuscaler
