// Converts readings of engines, endpoints and queues to samples of the replica that they belong to.
// Windows, gaps and activity then work alike for all sources.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "absl/time/time.h"
#include "model/signal_history.h"
#include "scaling/node_view.h"
#include "scaling/replica.h"
#include "trigger/trigger.h"

namespace gpuscaler {

struct ObservedSeries {
  const SignalSeries* series;
  // When its request counts froze (frozen_engine.h): from then on they are 0. InfiniteFuture: they
  // are not frozen.
  absl::Time frozen_since = absl::InfiniteFuture();
  // The workload's batch limit. It measures the pressure of an engine without a limit of its own.
  std::optional<double> shared_limit;
};

// Returns the aggregate of all series over time, by the trigger's `aggregation` and in its unit,
// from `oldest` to `now`. The newest reading counts until `now`. A sample is empty if a series had
// no value for stale_after.
std::vector<ReplicaSample> SamplesOf(const Trigger& trigger,
                                     std::span<const ObservedSeries> observed, absl::Time oldest,
                                     absl::Time now, absl::Duration stale_after);

void DropSamplesAfter(absl::Time at, std::vector<ReplicaSample>& samples);

// InfinitePast: the series never had a value, as far as is known.
absl::Time LastReadAt(const SignalSeries& series);

}  // namespace gpuscaler
