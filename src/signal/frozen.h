// Gauges of an engine that nobody updates any more.
//
// After a mass abort vLLM keeps the last numbers of waiting and running requests, and of its cache,
// until its next step, which no request brings about (vLLM #22545): a replica that is idle and
// would never be scaled in.
#pragma once

#include <optional>
#include <span>

#include "absl/time/time.h"
#include "signal/engine_rates.h"

namespace gpuscaler {

// The engine says that it has requests, but for `frozen_window` up to the newest reading its GPUs
// were idle, its counters stood still, and the numbers of requests did not move. All of it needs
// evidence: without a counter, with readings that do not reach back so far, or GPUs of which it is
// not known since when they are idle (empty, as where they are busy), the engine is believed.
bool GaugesAreFrozen(std::span<const TimedReading> readings,
                     std::optional<absl::Time> gpus_idle_since, absl::Duration frozen_window);

// Without requests, and so with an empty cache: vLLM's holds blocks of live requests alone.
ModelReading WithoutRequests(ModelReading reading);

}  // namespace gpuscaler
