// Decisions on one node without kubelet attribution, for tests.
//
//   Steady(Utilization(), {BusyGpu(0, 90), BusyGpu(1, 50)}).value  // 140
#pragma once

#include <vector>

#include "scaling/decision.h"
#include "scaling/test_history_builder.h"
#include "trigger/test_triggers.h"

namespace gpuscaler {

inline Decision After(const Trigger& trigger, const HistoryBuilder& builder) {
  return Decide(trigger, {}, builder.fleet(), kStaleness);
}

// Decides after `gpus` were in this state for longer than any window.
inline Decision Steady(const Trigger& trigger, const std::vector<GpuSample>& gpus) {
  return After(trigger, HistoryBuilder().RepeatFor(kLong, gpus));
}

}  // namespace gpuscaler
