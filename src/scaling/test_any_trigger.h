// Random triggers on pods, for property tests.
#pragma once

#include "scaling/test_random.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// Has any target, aggregation and windows, and the default metric and workload.
inline Trigger AnyTriggerOnPods(Random& random) {
  Trigger trigger;
  trigger.target = random.Whole(1, 100);
  trigger.target_type = random.ThreeInFour() ? TargetType::kAverageValue : TargetType::kValue;
  trigger.aggregation = static_cast<Aggregation>(random.Whole(0, 5));
  trigger.replica_aggregation = static_cast<ReplicaAggregation>(random.Whole(0, 3));
  trigger.window = absl::Seconds(random.Whole(0, 60));
  trigger.activation_window = absl::Seconds(random.Whole(0, 90));
  trigger.warmup = absl::Seconds(random.Whole(0, 30));
  trigger.preallocated_memory = static_cast<PreallocatedMemory>(random.Whole(0, 2));
  return trigger;
}

}  // namespace gpuscaler
