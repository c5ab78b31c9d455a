// Rates, waits and latencies of an engine, from the growth of its counters between readings: at
// each of the readings over the window that ends there, all of them in one pass.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "engine/stored_readings.h"
#include "series/counter_window.h"

namespace gpuscaler {

using NumberAtEach = std::vector<std::optional<double>>;

// Readings that lack the counter are bridged. Empty: not known yet (CounterWindows).
std::vector<std::optional<Growth>> GrowthAtEach(std::span<const TimedReading> readings,
                                                TimedNumber counter,
                                                const CounterLookBack& look_back);

// The value that this share of the counted are not above, as Prometheus' histogram_quantile() has
// it (promql/quantile.go): between a bucket's bounds by straight line, below the first bound from
// 0, above the last finite one that bound. Empty: nothing was counted, or there is no finite bound.
std::optional<double> Quantile(const Histogram& histogram, double share);

// Of the requests that left the queue in the window, and of those that got tokens. Where there were
// none it is 0 if the engine says that none waits and none runs, else empty: how long those take is
// not known yet.
NumberAtEach MeanQueueSeconds(std::span<const TimedReading> readings,
                              const CounterLookBack& look_back);
NumberAtEach P95Seconds(std::span<const TimedReading> readings, TimedHistogram latency,
                        const CounterLookBack& look_back);

}  // namespace gpuscaler
