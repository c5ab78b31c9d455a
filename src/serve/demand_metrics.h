// The demand and the batch limit of each trigger as its newest decision has them, for the page
// Prometheus scrapes.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "absl/time/time.h"
#include "base/mutex.h"
#include "demand/demand.h"
#include "demand/latency_ask.h"
#include "prometheus/metric_family.h"
#include "scaling/decision.h"

namespace gpuscaler {

// A trigger, as its series name it.
struct DemandLabels {
  std::string namespace_name;
  std::string scaled_object;
  std::string metric;  // MetricSpec::metric_name

  friend auto operator<=>(const DemandLabels&, const DemandLabels&) = default;
};

// Thread-safe. Triggers that were not decided on for 15 min have no series.
class DemandMetrics {
 public:
  static constexpr size_t kMostTriggers = 10'000;

  // A decision with neither removes the trigger's series.
  void Take(const DemandLabels& labels, const Decision& decision);

  // Empty where no trigger has any.
  std::vector<prometheus::MetricFamily> Families(absl::Time now) const;

 private:
  struct Seen {
    absl::Time at;
    std::optional<Demand> demand;
    bool counts = false;
    std::optional<LatencyAsk> latency;
    std::optional<double> batch_limit;
    std::optional<bool> batch_limit_known;
  };

  mutable Mutex mutex_;
  std::map<DemandLabels, Seen> triggers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace gpuscaler
