// Which GPUs a trigger looks at, and what each showed over time.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "model/node_snapshot.h"
#include "scaling/trigger.h"

namespace gpuscaler {

struct GpuSeries {
  std::string name;                       // node/index, of a MIG instance node/index/uuid
  bool present = false;                   // in the newest snapshot
  std::vector<const GpuSample*> samples;  // one for each of ScopedHistory::times; null: not there
};

// Points into the history it was made from.
struct ScopedHistory {
  std::vector<absl::Time> times;  // oldest first; never empty
  std::vector<GpuSeries> gpus;    // those present by index, then those that have gone

  absl::Time Now() const { return times.back(); }
};

// FAILED_PRECONDITION: no GPU has the trigger's gpuIndex, or none in scope has its metric (the text
// names the devices). A GPU split into MIG instances counts only for a metric that its instances
// lack, such as power. No GPU at all is no error. The history is cut to what the trigger looks
// back on: its longest window, and stale_after before it.
absl::StatusOr<ScopedHistory> ScopeOf(const Trigger& trigger, const NodeHistory& history,
                                      absl::Duration stale_after);

}  // namespace gpuscaler
