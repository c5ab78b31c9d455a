// Prometheus metrics of each trigger's value, replicas, demand and batch limit, from its newest
// decision.
#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/mutex.h"
#include "engine/demand.h"
#include "engine/latency_demand.h"
#include "prometheus/metric_family.h"
#include "scaling/decision.h"

namespace gpuscaler {

// The labels of a trigger's series.
struct TriggerLabels {
  std::string namespace_name;
  std::string scaled_object;
  std::string metric;  // MetricSpec::metric_name

  friend auto operator<=>(const TriggerLabels&, const TriggerLabels&) = default;
};

// Thread-safe. Triggers without a decision for 15 min have no series.
class TriggerMetrics {
 public:
  // Further triggers have no series.
  static constexpr size_t kMaxTriggers = 10'000;

  // Replaces the value and the replicas, which a decision with an error keeps. Replaces the demand
  // and the limit, and removes their series if the decision has neither, or unless
  // `computes_demand`.
  void Update(const TriggerLabels& labels, const Decision& decision, bool computes_demand);

  // Returns only families that have a series.
  std::vector<prometheus::MetricFamily> Families(absl::Time now) const;

 private:
  // Empty: no series.
  struct DemandSeries {
    std::optional<Demand> demand;
    bool counts = false;
    std::optional<LatencyDemand> latency;
    std::optional<double> batch_limit;
    std::optional<bool> batch_limit_known;
  };
  struct Entry {
    absl::Time decided_at;
    absl::Time valued_at = absl::InfinitePast();  // the newest decision without an error
    double value = 0;
    int replicas = 0;
    int direction = 0;  // the last change of `replicas`: 1 up, -1 down, 0 none yet
    int direction_changes = 0;
    DemandSeries demand;
  };
  static void UpdateValue(const Decision& decision, Entry& entry);

  mutable Mutex mutex_;
  std::map<TriggerLabels, Entry> triggers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace gpuscaler
