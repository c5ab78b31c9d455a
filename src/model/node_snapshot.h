// All GPUs of a node at one instant.
#pragma once

#include <string>

#include "absl/time/time.h"
#include "model/gpu_sample.h"
#include "model/pod.h"
#include "model/shared_list.h"

namespace gpuscaler {

// Returns true if a healthy node's readings are stale at times. A reading comes up to an interval
// late, so `stale_after` must cover two intervals.
inline bool IsReadTooSeldom(absl::Duration read_every, absl::Duration stale_after) {
  return 2 * read_every > stale_after;
}

// The result of one reading. No GPUs: the driver reports none. A failed reading gives no snapshot.
struct NodeSnapshot {
  absl::Time taken_at;
  std::string node;
  std::string source;  // "nvml", "file:/tmp/gpus.json"
  std::string driver_version;
  absl::Duration read_every;   // the agent's --poll-interval; zero: unknown
  SharedList<GpuSample> gpus;  // in index order; MIG instances follow their parent

  Attribution attribution;
  SharedList<Pod> pods;  // holders of `gpus`
};

}  // namespace gpuscaler
