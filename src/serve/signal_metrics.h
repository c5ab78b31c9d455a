// Prometheus metrics about readings of engines, metrics endpoints and queues.
#pragma once

#include <string>

#include "absl/time/time.h"
#include "signal/signal_counts.h"

namespace gpuscaler {

// Returns text to append to Metrics::Page(), in the same format. A kind without a source that a
// trigger needs has no age.
std::string SignalMetrics(const SignalCountsByKind& counts, absl::Time now);

}  // namespace gpuscaler
