// All GPUs of a node at one instant.
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "model/gpu_sample.h"
#include "model/pod.h"

namespace gpuscaler {

// A reading comes up to an interval late: two of them are the least for which a healthy node's
// newest one always stands.
inline bool IsReadTooSeldom(absl::Duration read_every, absl::Duration stale_after) {
  return 2 * read_every > stale_after;
}

// What one reading found. No GPUs: the driver says that there is none; a reading that failed gives
// no snapshot at all.
struct NodeSnapshot {
  absl::Time taken_at;
  std::string node;
  std::string source;  // "nvml", "file:/tmp/gpus.json"
  std::string driver_version;
  absl::Duration read_every;    // the agent's --poll-interval; zero: not told
  std::vector<GpuSample> gpus;  // by index; MIG instances right behind their parent

  Attribution attribution;
  std::vector<Pod> pods;  // that hold one of `gpus`
};

}  // namespace gpuscaler
