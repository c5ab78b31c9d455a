// Prometheus metrics of each trigger's value and replicas, from its newest decision.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "absl/time/time.h"
#include "base/mutex.h"
#include "prometheus/metric_family.h"
#include "scaling/decision.h"
#include "serve/demand_metrics.h"

namespace gpuscaler {

// Thread-safe. Triggers without a decision for 15 min have no series.
class TriggerMetrics {
 public:
  static constexpr size_t kMaxTriggers = 10'000;

  // Takes the value and replicas of a new decision. A decision with an error changes nothing.
  void Update(const DemandLabels& labels, const Decision& decision);

  // Returns only families that have a series.
  std::vector<prometheus::MetricFamily> Families(absl::Time now) const;

 private:
  struct Entry {
    absl::Time at;
    double value = 0;
    int replicas = 0;
    int direction = 0;  // the last change of `replicas`: 1 up, -1 down, 0 none yet
    int direction_changes = 0;
  };

  mutable Mutex mutex_;
  std::map<DemandLabels, Entry> triggers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace gpuscaler
