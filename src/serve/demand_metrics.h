// Prometheus metrics of each trigger's demand and batch limit, from its newest decision.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "absl/time/time.h"
#include "base/mutex.h"
#include "demand/demand.h"
#include "demand/latency_demand.h"
#include "prometheus/metric_family.h"
#include "scaling/decision.h"

namespace gpuscaler {

// The labels of a trigger's series.
struct DemandLabels {
  std::string namespace_name;
  std::string scaled_object;
  std::string metric;  // MetricSpec::metric_name

  friend auto operator<=>(const DemandLabels&, const DemandLabels&) = default;
};

// Thread-safe. Triggers without a decision for 15 min have no series.
class DemandMetrics {
 public:
  static constexpr size_t kMaxTriggers = 10'000;

  // Replaces the trigger's series, or removes them if the decision has neither demand nor limit.
  void Update(const DemandLabels& labels, const Decision& decision);

  // Returns only families that have a series.
  std::vector<prometheus::MetricFamily> Families(absl::Time now) const;

 private:
  struct Entry {
    absl::Time at;
    std::optional<Demand> demand;
    bool counts = false;
    std::optional<LatencyDemand> latency;
    std::optional<double> batch_limit;
    std::optional<bool> batch_limit_known;
  };

  mutable Mutex mutex_;
  std::map<DemandLabels, Entry> triggers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace gpuscaler
