// Engines that have stopped counting (vLLM #22545): their last numbers of requests stand for ever.
#pragma once

#include <span>
#include <vector>

#include "absl/time/time.h"
#include "model/signal_history.h"
#include "scaling/replica.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// When its requests have stood still for frozenWindow, whatever GPUs do; InfiniteFuture: they move.
absl::Time PreallocatedAt(const Trigger& trigger, const SignalSeries& engine);

// When its requests count as none if nothing is heard: by then they have stood still for
// frozenWindow, and the replica's GPUs been idle for as long, or for as long as the trigger looks
// back. InfiniteFuture: they move, or its GPUs are busy or not known.
absl::Time FrozenAt(const Trigger& trigger, const SignalSeries& engine,
                    std::span<const ReplicaSample> of_gpus);

// The same by what the replica's GPUs showed until then. InfiniteFuture too if its node is silent.
absl::Time FrozenAt(const Trigger& trigger, const SignalSeries& engine, const Replica& replica,
                    absl::Time until);

// Whether one of the engines, be it listed or not, has stood still for frozenWindow by then:
// whether any is frozen is its GPUs' to say.
bool AnyPreallocated(const Trigger& trigger, const SignalHistory& signals, absl::Time now);

// Gives each of a replica's `samples` what its GPUs showed last by then.
void TakeBusyFrom(std::span<const ReplicaSample> of_gpus, std::vector<ReplicaSample>& samples);

}  // namespace gpuscaler
