// Rates, waits and latencies of an engine from the growth of its counters. Each function returns
// one value for each reading, in one pass. It covers the window that ends at the reading
// (CounterLookBack::window).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "engine/counter_window.h"
#include "engine/stored_readings.h"

namespace gpuscaler {

using ValuesAtReadings = std::vector<std::optional<double>>;  // one for each reading

// Readings without the counter are skipped. An element is empty while too little of its window is
// covered (CounterWindows).
std::vector<std::optional<Growth>> GrowthAtReadings(std::span<const TimedReading> readings,
                                                    NumberField counter,
                                                    const CounterLookBack& look_back);

// Computes what Prometheus' histogram_quantile() does (promql/quantile.go): linear interpolation
// within a bucket, from 0 below the first bound, and the last finite bound above it. Returns
// nullopt without observations or without a finite bound.
std::optional<double> Quantile(const Histogram& histogram, double share);

// Covers the requests that left the queue in the window. If none left, the value is 0 if the engine
// reports neither waiting nor running requests, else empty: the wait of its requests is not known
// yet.
ValuesAtReadings MeanQueueSeconds(std::span<const TimedReading> readings,
                                  const CounterLookBack& look_back);

// Covers the observations of `latency` in the window. Without observations the value is as for
// MeanQueueSeconds().
ValuesAtReadings P95Seconds(std::span<const TimedReading> readings, HistogramField latency,
                            const CounterLookBack& look_back);

}  // namespace gpuscaler
