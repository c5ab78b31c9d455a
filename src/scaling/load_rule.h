// How the samples of a replica become its load.
#pragma once

#include <optional>
#include <span>

#include "absl/time/time.h"
#include "scaling/replica.h"
#include "trigger/trigger.h"

namespace gpuscaler {

using Samples = std::span<const ReplicaSample>;

// How each sample of a replica becomes its load, by the replica's present state.
enum class LoadRule {
  kMetric,           // as read
  kNotEvaluated,     // its memory was not watched long enough to show whether it is preallocated
  kUtilization,      // preallocated, engineFallback: utilization
  kTargetWhileBusy,  // preallocated: shows only whether the replica is busy
  kUnknown,          // preallocated, engineFallback: none
};

LoadRule LoadRuleOf(const Trigger& trigger, const Replica& replica);

// Returns whether its GPUs count and their VRAM is preallocated. A replica that is gone may have
// freed its memory first, so the result is false then, unless memory is taken literally.
bool IsPreallocated(const Trigger& trigger, const Replica& replica);

// Empty: not known. A replica that is not evaluated has at most the target.
std::optional<double> ValueOf(const Trigger& trigger, LoadRule load_rule,
                              const ReplicaSample& sample);

// Returns when the reading behind the value was made, as of this sample.
absl::Time ReadAt(LoadRule load_rule, const ReplicaSample& sample);

// After() excludes a sample at `at`, and From() includes it.
Samples After(Samples samples, absl::Time at);
Samples From(Samples samples, absl::Time at);

}  // namespace gpuscaler
