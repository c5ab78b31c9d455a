// Since when an engine's requests have not moved, though it says that it has some.
//
// After a mass abort vLLM keeps the last numbers of waiting and running requests, and of its cache,
// until its next step, which no request brings about (vLLM #22545): a replica that is idle and
// would never be scaled in. Where its GPUs are idle as well such requests are none.
#pragma once

#include <optional>

#include "absl/time/time.h"
#include "engine/engine_reading.h"

namespace gpuscaler {

// Of one model, or of several added up. Not thread-safe.
class StillRequests {
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
