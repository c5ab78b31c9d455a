// Engines that have stopped updating their metrics (vLLM #22545): request counts stay as they are.
#pragma once

#include <span>
#include <vector>

#include "absl/time/time.h"
#include "model/signal_history.h"
#include "scaling/replica.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// Returns when the request counts of the engine will have been the same for frozenWindow, however
// busy its GPUs are. InfiniteFuture: they change, or there are none.
absl::Time StalledAt(const Trigger& trigger, const SignalSeries& engine);

// Returns when the engine will count as having no requests if no new reading comes: StalledAt(), or
// later if the replica's GPUs have not been idle for frozenWindow then, or for the look-back if
// that is shorter. InfiniteFuture: the counts change, or the GPUs are busy or not known.
absl::Time FrozenAt(const Trigger& trigger, const SignalSeries& engine,
                    std::span<const ReplicaSample> gpu_samples);

// The same with the readings of the replica's GPUs up to `until`. InfiniteFuture also if these are
// stale.
absl::Time FrozenAt(const Trigger& trigger, const SignalSeries& engine, const Replica& replica,
                    absl::Time until);

// Returns whether the request counts of any engine, listed or departed, have been the same for
// frozenWindow at `now`. The engine is frozen only if its GPUs are idle as well.
bool AnyStalled(const Trigger& trigger, const SignalHistory& signals, absl::Time now);

// Copies what the GPUs showed at the time of each of `samples`.
void CopyGpuActivity(std::span<const ReplicaSample> gpu_samples,
                     std::vector<ReplicaSample>& samples);

}  // namespace gpuscaler
