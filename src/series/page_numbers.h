// One page of metrics at one address, read again and again, and the numbers that triggers pick from
// it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "model/signal_source.h"
#include "page/page_poller.h"
#include "page/page_request.h"
#include "page/prometheus_metric.h"
#include "series/counter_window.h"
#include "series/series_growth.h"

namespace gpuscaler {

// What is wanted of a page; each one's place is a MetricsPage.
using NumbersWish = std::map<SignalSource, MetricSelector>;

// Read once for all sources that are on it. Thread-safe.
class PageNumbers : public PolledTarget {
 public:
  // Of each source what it is at that address: its number, or what its counters have grown by so
  // far. A fault names the place.
  using Sink = std::function<void(const SignalSource& source, const IpAddress& address,
                                  const absl::StatusOr<CounterPoint>& number)>;

  // A counter that was not seen for longer than `longest_gap` is a new one. `sink` must not call
  // this.
  PageNumbers(PageRequest request, absl::Duration longest_gap, Sink sink);

  // What is picked from now on, and told of, when it returns.
  void Want(const NumbersWish& wish);

  std::string Tenant() override;  // the first of those who want it
  PageRequest First() override { return request_; }
  std::optional<PageRequest> Take(absl::Time at, const absl::StatusOr<Page>& page) override;

 private:
  struct Picked {
    MetricSelector selector;
    IfAbsent if_absent = IfAbsent::kError;
    std::unique_ptr<SeriesGrowth> growth;  // null: its value, not its rate
  };

  absl::StatusOr<CounterPoint> NumberOf(Picked& picked, absl::Time at,
                                        const absl::StatusOr<Page>& page) const;

  const PageRequest request_;
  const absl::Duration longest_gap_;
  const Sink sink_;
  Mutex mutex_;
  std::map<SignalSource, Picked> picked_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace gpuscaler
