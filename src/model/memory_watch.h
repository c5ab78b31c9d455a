// Tracks the GPU memory of each holder from reading to reading.
#pragma once

#include <map>
#include <string>

#include "model/node_snapshot.h"

namespace gpuscaler {

// Fills `steady_memory`. Requires `in_use` and `held_since`. Not thread-safe: used by the sampler.
class MemoryWatch {
 public:
  void Annotate(NodeSnapshot& snapshot);

 private:
  struct GpuInUse {
    absl::Time held_since = absl::InfinitePast();
    SteadyMemory memory;
  };
  std::map<std::string, GpuInUse> gpus_in_use_;  // key: uuid
};

}  // namespace gpuscaler
