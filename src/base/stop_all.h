// The end of several threads at once.
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/periodic_thread.h"

namespace gpuscaler {

struct NamedThread {
  PeriodicThread* thread;  // null: there is none
  std::string name;
};

// Stops the threads within `patience`, all told first and then waited for; names those that hang.
std::vector<std::string> StopAll(const std::vector<NamedThread>& threads, absl::Duration timeout);

}  // namespace gpuscaler
