// How the samples of a replica become its load (DESIGN 2, preallocated VRAM).
#pragma once

#include <optional>
#include <span>

#include "absl/time/time.h"
#include "scaling/replica.h"
#include "trigger/trigger.h"

namespace gpuscaler {

using Samples = std::span<const ReplicaSample>;

// One for all samples of a replica, by its state now.
enum class Valuation {
  kMetric,           // as read
  kNotEvaluated,     // memory not watched for long enough to know whether it is preallocated
  kUtilization,      // preallocated, engineFallback: utilization
  kTargetWhileBusy,  // preallocated: shows only whether the replica works
  kUnknown,          // preallocated, engineFallback: none
};

struct ReplicaState {
  Valuation valuation = Valuation::kMetric;
  bool standing = false;            // its VRAM is preallocated
  bool saturation_unknown = false;  // it is, and no engine reports how full it is
};

// Requires `warm`, its samples since its start ended.
ReplicaState StateOf(const Trigger& trigger, const Replica& replica, Samples warm);

// Empty: not known. A replica that is not evaluated is valued at the lesser of its memory and the
// target.
std::optional<double> ValueOf(const Trigger& trigger, Valuation valuation,
                              const ReplicaSample& sample);

// When the reading behind the value was made, as of this sample.
absl::Time ReadAt(Valuation valuation, const ReplicaSample& sample);

// The samples behind `at`, and those from `at` on.
Samples After(Samples samples, absl::Time at);
Samples From(Samples samples, absl::Time at);

}  // namespace gpuscaler
