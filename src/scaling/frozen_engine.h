// Engines that have stopped counting (vLLM #22545): their last request counts stay for ever.
#pragma once

#include <span>
#include <vector>

#include "absl/time/time.h"
#include "model/signal_history.h"
#include "scaling/replica.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// Returns when requests of the engine have not moved for frozenWindow, whatever GPUs do.
// InfiniteFuture: they move.
absl::Time StalledAt(const Trigger& trigger, const SignalSeries& engine);

// Returns when requests of the engine count as none if no new reading comes. By then they have not
// moved for frozenWindow. The replica's GPUs were idle for as long, or for the look-back if that is
// shorter. InfiniteFuture: requests move, or the GPUs are busy or not known.
absl::Time FrozenAt(const Trigger& trigger, const SignalSeries& engine,
                    std::span<const ReplicaSample> gpu_samples);

// The same with the readings of the replica's GPUs up to `until`. InfiniteFuture also if these are
// stale.
absl::Time FrozenAt(const Trigger& trigger, const SignalSeries& engine, const Replica& replica,
                    absl::Time until);

// Returns whether the requests of any engine, listed or departed, have not moved for frozenWindow
// at `now`. They are frozen only if its GPUs are idle as well.
bool AnyStalled(const Trigger& trigger, const SignalHistory& signals, absl::Time now);

// Copies what the GPUs showed at the time of each of `samples`.
void CopyGpuActivity(std::span<const ReplicaSample> gpu_samples,
                     std::vector<ReplicaSample>& samples);

}  // namespace gpuscaler
