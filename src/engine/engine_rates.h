// Rates, waits and latencies of an engine from the growth of its counters. Each function returns
// the value at every reading, over the window that ends there, in one pass.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "engine/stored_readings.h"
#include "series/counter_window.h"

namespace gpuscaler {

using NumberAtEach = std::vector<std::optional<double>>;

// Returns the growth of `counter`. Readings without the counter are skipped. Empty while too little
// of the window is covered (CounterWindows).
std::vector<std::optional<Growth>> GrowthAtEach(std::span<const TimedReading> readings,
                                                TimedNumber counter,
                                                const CounterLookBack& look_back);

// Returns the `share` quantile as Prometheus' histogram_quantile() does (promql/quantile.go):
// linear interpolation within a bucket, from 0 below the first bound, and the last finite bound
// above it. Returns nullopt without observations or without a finite bound.
std::optional<double> Quantile(const Histogram& histogram, double share);

// Return the mean wait of the requests that left the queue in the window, and the p95 latency of
// those that got tokens. Without such requests the value is 0 if the engine reports no waiting and
// no running requests, else empty: their latency is not known yet.
NumberAtEach MeanQueueSeconds(std::span<const TimedReading> readings,
                              const CounterLookBack& look_back);
NumberAtEach P95Seconds(std::span<const TimedReading> readings, TimedHistogram latency,
                        const CounterLookBack& look_back);

}  // namespace gpuscaler
