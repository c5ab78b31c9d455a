// Whether a GPU is in use, since when its present holder has it, and how long that holder's memory
// has been steady. The source is the node's own readings, and its pods if they are known.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "model/memory_watch.h"
#include "model/node_snapshot.h"

namespace gpuscaler {

// Returns true if there is a compute process, utilization above 0, or more than 3 % of the memory
// in use: some containers hide processes. Empty: none of these could be read.
std::optional<bool> InUse(const GpuSample& gpu);

// Fills `in_use`, `held_since` and `steady_memory` of every GPU, reading by reading. Not
// thread-safe: used by the sampler.
// - A GPU stays in use, or free, while readings do not show which it is. It also stays in use while
//   a field fails that showed use before, and no other field shows use.
// - The holder has changed if the GPU was free in between, or if none of its processes, or none of
//   its pods (attribution.h), was there before.
// - Holders in the first reading have held their GPUs forever, so a restart of the agent starts no
//   warm-up.
// - A GPU that is missing for up to 10 minutes has the same holder afterwards.
class HoldingTracker {
 public:
  void Annotate(NodeSnapshot& snapshot);

 private:
  struct Holding {
    bool in_use = false;
    bool known = false;        // some reading showed whether it is in use
    std::set<GpuField> signs;  // the fields that last showed it in use
    absl::Time since = absl::InfinitePast();
    std::set<int64_t> pids;
    std::set<std::string> pods;  // "shop/web-0"; while unknown, the last known ones
    int index = 0;
    absl::Time seen_at;
  };

  // Returns the state of a GPU before this reading.
  Holding Before(const GpuSample& gpu, const NodeSnapshot& snapshot) const;
  static void Update(const GpuSample& gpu, const NodeSnapshot& snapshot, Holding& holding);

  std::map<std::string, Holding> holdings_;  // key: uuid
  MemoryWatch memory_;
  bool first_ = true;
};

}  // namespace gpuscaler
