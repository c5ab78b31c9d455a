// GPU time of the whole fleet for the last day, by hour: cost reports without Prometheus.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "absl/time/time.h"
#include "cost/cost_report.h"
#include "cost/gpu_time.h"
#include "cost/price_list.h"
#include "cost/usage.h"
#include "model/fleet_history.h"

namespace gpuscaler {

// Memory is bounded: each hour has at most kMaxWorkloads workloads and kMaxNodes nodes. The rest
// counts for the workload or node kOtherWorkloads. Not thread-safe.
class CostHistory {
 public:
  static constexpr int kHours = 24;
  static constexpr absl::Duration kRecordEvery = absl::Seconds(15);
  static constexpr size_t kMaxWorkloads = 2'000;
  static constexpr size_t kMaxNodes = 10'000;

  explicit CostHistory(const GpuTimeLimits& limits);

  // Must be called every kRecordEvery with the whole fleet. Time in which a node was not read is
  // unknown while the fleet still lists it.
  void Record(absl::Time now, const FleetHistory& fleet);

  // Covers whole hours: `from` is rounded down to the hour, and is at least since(). `to` is the
  // last Record(). `prices` may be null. Without a Record() the report has no rows.
  CostReport Report(int hours, GroupBy by, const PriceList* prices) const;

  // Returns when the first kept hour began, or recording if that was later. InfiniteFuture: not
  // recorded yet.
  absl::Time since() const;

 private:
  struct Hour {
    absl::Time begins;
    std::map<UsageKey, StateTimes> workloads;  // without node
    std::map<UsageKey, StateTimes> nodes;      // node and model only
  };
  static void Book(Hour& hour, UsageKey key, GpuState state, int64_t micros);

  GpuTimeLimits limits_;
  std::map<std::string, GpuTime> nodes_;
  std::deque<Hour> hours_;  // oldest first
  absl::Time began_at_ = absl::InfiniteFuture();
  absl::Time recorded_at_ = absl::InfinitePast();
};

}  // namespace gpuscaler
