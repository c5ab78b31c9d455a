// What is counted of the engines, pages and queues that triggers name, for the page Prometheus
// scrapes.
#pragma once

#include <string>

#include "absl/time/time.h"
#include "signal/signal_counts.h"

namespace gpuscaler {

// Behind Metrics::Page(), in the same format. A kind of which nothing is wanted has no age.
std::string SignalMetrics(const SignalCountsByKind& counts, absl::Time now);

}  // namespace gpuscaler
