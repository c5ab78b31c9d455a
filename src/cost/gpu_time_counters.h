// A node's GPU time since its process started: the values of keda_gpu_scaler_gpu_seconds_total.
#pragma once

#include <cstddef>
#include <map>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "cost/gpu_time.h"
#include "cost/usage.h"

namespace gpuscaler {

// The workload that stands for those beyond a limit. No Kubernetes object can have this name.
constexpr absl::string_view kOtherWorkloads = "(other)";

// The number of counters is bounded, however many workloads come and go. A workload without new
// time for kKeep is removed; if it comes back, it begins at 0. While there are kMaxWorkloads, the
// time of further workloads counts for kOtherWorkloads. A workload has up to four series, because
// no time of a workload is free. Each GPU model adds kOtherWorkloads and the time without a
// workload.
//
// Not thread-safe.
class GpuTimeCounters {
 public:
  static constexpr size_t kMaxWorkloads = 200;  // one node's, each with one GPU model
  static constexpr absl::Duration kKeep = absl::Hours(24);

  explicit GpuTimeCounters(const GpuTimeLimits& limits) : time_(limits) {}

  // See GpuTime.
  void Add(const NodeSnapshot& snapshot);
  void BookMissing(absl::Time now);

  struct Counter {
    StateTimes times;
    absl::Time changed_at;
  };
  const std::map<UsageKey, Counter>& counters() const { return counters_; }

 private:
  void Book(const UsageKey& key, GpuState state, int64_t micros, absl::Time at);

  GpuTime time_;
  std::map<UsageKey, Counter> counters_;
};

}  // namespace gpuscaler
