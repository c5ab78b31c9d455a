// Whether a GPU is in use, since when its present holder has it, and how long that one's memory has
// stood still: as far as a node can tell by itself, and by its pods where those are known.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "model/memory_watch.h"
#include "model/node_snapshot.h"

namespace gpuscaler {

// A compute process, utilisation above 0, or more than 3 % of the memory used (processes are
// invisible in some containers); empty when nothing of these could be read.
std::optional<bool> InUse(const GpuSample& gpu);

// Fills `in_use`, `held_since` and `steady_memory` of every GPU, reading by reading. A reading that
// cannot tell keeps what the one before it said: also one in which that fails which last showed the
// GPU in use. The holder has changed when the GPU was free in between, or when none of its
// processes, or of its pods (attribution.h), is one of before. Holders that the first reading finds
// have held it for ever: a restart of ours starts no warm-up. A GPU that readings miss for minutes
// is held as before when it is back. Not thread-safe: the sampler's own.
class HoldingTracker {
 public:
  void Annotate(NodeSnapshot& snapshot);

 private:
  struct Holding {
    bool in_use = false;
    bool known = false;        // some reading could tell
    std::set<GpuField> signs;  // what showed it in use, when last something did
    absl::Time since = absl::InfinitePast();
    std::set<int64_t> pids;
    std::set<std::string> pods;  // "shop/web-0"; of old where nobody knows them now
    int index = 0;
    absl::Time seen_at;
  };

  // What is known of a GPU before this reading of it.
  Holding Before(const GpuSample& gpu, const NodeSnapshot& snapshot) const;
  static void Update(const GpuSample& gpu, const NodeSnapshot& snapshot, Holding& holding);

  std::map<std::string, Holding> holdings_;  // by uuid
  MemoryWatch memory_;
  bool first_ = true;
};

}  // namespace gpuscaler
