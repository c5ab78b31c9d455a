// Prometheus metrics of a node's GPU time by state and workload, and of the prices of GPUs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/mutex.h"
#include "cost/gpu_time_counters.h"
#include "cost/money.h"
#include "model/node_snapshot.h"
#include "prometheus/metric_family.h"

namespace gpuscaler {

// Thread-safe.
class GpuTimeMetrics {
 public:
  explicit GpuTimeMetrics(const GpuTimeLimits& limits) : counters_(limits) {}

  // Counts the time up to a new reading. Requires a snapshot that has the GPUs' holders and
  // `in_use`, as after attribution.
  void Read(const NodeSnapshot& snapshot);

  // Returns no family until some time was counted. First counts time that no later reading can
  // cover, so a hung driver does not stop the counters.
  std::vector<prometheus::MetricFamily> Families(absl::Time now);

 private:
  Mutex mutex_;
  GpuTimeCounters counters_ ABSL_GUARDED_BY(mutex_);
};

// Returns the exposition of the prices by GPU model; "" without any. `currency` may be empty.
std::string GpuPriceMetrics(const std::map<std::string, HourlyPrice>& prices,
                            const std::string& currency);

}  // namespace gpuscaler
