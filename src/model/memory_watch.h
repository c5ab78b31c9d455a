// Tracks the GPU memory of each holder from reading to reading.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "model/node_snapshot.h"

namespace gpuscaler {

// Fills `steady_memory`. Requires `in_use` and `held_since`. Not thread-safe: used by the sampler.
class MemoryWatch {
 public:
  void Annotate(NodeSnapshot& snapshot);

 private:
  // That of each GPU in use. The key is its UUID, and since when its holder has it.
  std::map<std::pair<std::string, absl::Time>, SteadyMemory> memory_;
};

}  // namespace gpuscaler
