// One page of metrics, read again and again, and the numbers that triggers pick from it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "model/signal_source.h"
#include "signal/counter_window.h"
#include "signal/page_poller.h"
#include "signal/page_request.h"
#include "signal/prometheus_metric.h"
#include "signal/series_growth.h"

namespace gpuscaler {

// Read once for all sources that are on it. Thread-safe.
class PageNumbers : public PolledTarget {
 public:
  // Of each source: its number, or what its counters have grown by so far. A fault names the place.
  using Sink =
      std::function<void(const SignalSource& source, const absl::StatusOr<CounterPoint>& number)>;

  // A counter that was not seen for longer than `longest_gap` is a new one.
  PageNumbers(PageRequest request, absl::Duration longest_gap, Sink sink);

  // Those that are picked from now on; each one's place is a MetricsPage.
  using Selectors = std::map<SignalSource, MetricSelector>;
  void Want(const Selectors& sources);

  PageRequest First() override { return request_; }
  std::optional<PageRequest> Take(absl::Time at, const absl::StatusOr<Page>& page) override;

 private:
  struct Picked {
    MetricSelector selector;
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
