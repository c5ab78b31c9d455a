// Follows the memory of every GPU's holder, reading by reading.
#pragma once

#include <map>
#include <string>

#include "model/node_snapshot.h"

namespace gpuscaler {

// Fills `steady_memory`, after `in_use` and `held_since`. Not thread-safe: the sampler's own.
class MemoryWatch {
 public:
  void Annotate(NodeSnapshot& snapshot);

 private:
  struct Watched {
    absl::Time held_since = absl::InfinitePast();
    SteadyMemory memory;
  };
  std::map<std::string, Watched> watched_;  // by uuid; GPUs in use only
};

}  // namespace gpuscaler
