#include "cost/gpu_time_counters.h"

#include <string>
#include <utility>

namespace gpuscaler {

void GpuTimeCounters::Add(const NodeSnapshot& snapshot) {
  const absl::Time at = snapshot.taken_at;
  std::erase_if(counters_,
                [at](const auto& counter) { return at - counter.second.changed_at > kKeep; });
  time_.Add(snapshot, at, [&](const UsageKey& key, GpuState state, int64_t micros) {
    Book(key, state, micros, at);
  });
}

void GpuTimeCounters::BookMissing(absl::Time now) {
  time_.BookMissing(now, [&](const UsageKey& key, GpuState state, int64_t micros) {
    Book(key, state, micros, now);
  });
}

// Time without a workload needs a few counters only, one for each GPU model.
void GpuTimeCounters::Book(const UsageKey& key, GpuState state, int64_t micros, absl::Time at) {
  auto found = counters_.find(key);
  if (found == counters_.end()) {
    UsageKey added = key;
    if (counters_.size() >= kMaxWorkloads && !key.workload.empty()) {
      added.namespace_name.clear();
      added.workload = std::string(kOtherWorkloads);
    }
    found = counters_.try_emplace(std::move(added)).first;
  }
  found->second.times[state] += micros;
  found->second.changed_at = at;
}

}  // namespace gpuscaler
