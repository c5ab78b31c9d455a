// Rates, waits and latencies of an engine, from the growth of its counters between readings.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "absl/time/time.h"
#include "signal/counter_window.h"
#include "signal/engine_reading.h"

namespace gpuscaler {

// What one replica's engine said at an instant; oldest first wherever several are asked for.
struct TimedReading {
  absl::Time at;
  ModelReading reading;
  bool goes_on = true;  // its counters went on from those of the reading before
};

// Whether the counters of the second went on from those of the first: the process is the same, and
// none is lower. Where one was reset, all were, though others may be higher again by now.
bool CountersGoOn(const ModelReading& older, const ModelReading& newer);

// The next one, later than all before.
void Append(std::vector<TimedReading>& readings, absl::Time at, ModelReading reading);

// Readings that lack the counter are bridged. Empty: not known yet (WindowOf).
std::optional<Growth> GrowthOf(std::span<const TimedReading> readings, ModelNumber counter,
                               const CounterLookBack& look_back);

// How many came into each bucket. Empty also where the bounds changed.
std::optional<Histogram> GrowthOf(std::span<const TimedReading> readings, ModelHistogram histogram,
                                  const CounterLookBack& look_back);

// The value that this share of the counted are not above, as Prometheus' histogram_quantile() has
// it (promql/quantile.go): between a bucket's bounds by straight line, below the first bound from
// 0, above the last finite one that bound. Empty: nothing was counted, or there is no finite bound.
std::optional<double> Quantile(const Histogram& histogram, double share);

// Of the requests that left the queue in the window, and of those that got tokens. Where there were
// none it is 0 if the engine says that none waits and none runs, else empty: how long those take is
// not known yet.
std::optional<double> MeanQueueSeconds(std::span<const TimedReading> readings,
                                       const CounterLookBack& look_back);
std::optional<double> P95Seconds(std::span<const TimedReading> readings, ModelHistogram latency,
                                 const CounterLookBack& look_back);

}  // namespace gpuscaler
