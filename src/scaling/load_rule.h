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
  kMetric,  // as read
  // As read, the target at most: its memory is too new to show whether it is preallocated.
  kNotEvaluated,
  kUtilization,      // preallocated, engineFallback: utilization
  kTargetWhileBusy,  // preallocated: shows only whether the replica is busy
  kUnknown,          // preallocated, engineFallback: none
};

LoadRule LoadRuleOf(const Trigger& trigger, const Replica& replica);

// Returns whether GPU memory is the replica's load and is preallocated. Returns false for a replica
// that is gone, because it may have freed its memory first, unless the trigger takes memory
// literally (PreallocatedMemory::kLiteral).
bool IsPreallocated(const Trigger& trigger, const Replica& replica);

// Returns the load of the sample. Empty: not known.
std::optional<double> ValueOf(const Trigger& trigger, LoadRule load_rule,
                              const ReplicaSample& sample);

// Returns when the reading behind the value was made, as of this sample.
absl::Time ReadAt(LoadRule load_rule, const ReplicaSample& sample);

// After() excludes a sample at `at`, and From() includes it.
Samples After(Samples samples, absl::Time at);
Samples From(Samples samples, absl::Time at);

}  // namespace gpuscaler
