// Stops several threads within one timeout.
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/periodic_thread.h"

namespace gpuscaler {

struct NamedThread {
  PeriodicThread* thread;  // null: nothing to stop
  std::string name;
};

// Stops all threads at once, then waits at most `timeout` for all of them. Returns the names of
// those that still run.
std::vector<std::string> StopAll(const std::vector<NamedThread>& threads, absl::Duration timeout);

}  // namespace gpuscaler
