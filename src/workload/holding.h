// Who holds a GPU, as far as a node can tell without Kubernetes: whether it is in use, and since
// when its present holder has it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "model/node_snapshot.h"

namespace gpuscaler {

// A compute process, utilisation above 0, or more than 3 % of the memory used (processes are
// invisible in some containers); empty when nothing of these could be read.
std::optional<bool> InUse(const GpuSample& gpu);

// Fills `in_use` and `held_since` of every GPU, reading by reading. A reading that cannot tell
// keeps what the one before it said. The holder has changed when the GPU was free in between, or
// when none of its processes is one of before. Holders that the first reading finds have held it
// for ever: a restart of ours starts no warm-up. Not thread-safe: the sampler's own.
class HoldingTracker {
 public:
  void Annotate(NodeSnapshot& snapshot);

 private:
  struct Holding {
    bool in_use = false;
    bool known = false;  // some reading could tell
    absl::Time since = absl::InfinitePast();
    std::set<int64_t> pids;
  };
  Holding Before(const std::string& uuid, absl::Time now) const;

  std::map<std::string, Holding> holdings_;  // by uuid
  bool first_ = true;
};

}  // namespace gpuscaler
