// What engines, pages and queues said, as samples of the one that they are of: then windows, gaps
// and activity are a replica's, whatever it is that was read.
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
  // From there on its requests are frozen, and count as none (DESIGN 2); InfiniteFuture: they move.
  absl::Time frozen_since = absl::InfiniteFuture();
  // The workload's batch limit: a pressure is measured by it if the engine has no other.
  std::optional<double> shared_limit;
};

// All of them together by `aggregation`, in the trigger's unit, from `oldest` up to now: until then
// the newest reading speaks. A sample is empty where one of them gave nothing for stale_after.
std::vector<ReplicaSample> SamplesOf(const Trigger& trigger,
                                     std::span<const ObservedSeries> observed, absl::Time oldest,
                                     absl::Time now, absl::Duration stale_after);

void DropSamplesAfter(absl::Time at, std::vector<ReplicaSample>& samples);

// When it last gave a number; InfinitePast: never, as far as is known.
absl::Time LastReadAt(const SignalSeries& series);

}  // namespace gpuscaler
