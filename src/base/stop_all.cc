#include "base/stop_all.h"

#include <algorithm>

#include "base/clock.h"

namespace gpuscaler {

std::vector<std::string> StopAll(const std::vector<NamedThread>& threads, absl::Duration timeout) {
  const SteadyClock real;
  const absl::Time deadline = real.Now() + timeout;
  for (const NamedThread& each : threads) {
    if (each.thread != nullptr) each.thread->Stop(absl::ZeroDuration());
  }
  std::vector<std::string> hanging;
  for (const NamedThread& each : threads) {
    const absl::Duration left = std::max(deadline - real.Now(), absl::ZeroDuration());
    if (each.thread != nullptr && !each.thread->Stop(left)) hanging.push_back(each.name);
  }
  return hanging;
}

}  // namespace gpuscaler
