// One page of metrics, read again and again, and the numbers that triggers pick from it.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

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

// What is wanted of a page.
struct NumbersWish {
  std::map<SignalSource, MetricSelector> selectors;  // each one's place is a MetricsPage
  // Of its name; whichever answers has the page, as for any client of a Service. Not empty, while
  // something is picked.
  std::vector<IpAddress> addresses;
};

// Read once for all sources that are on it, at the address that answered last. When that does not,
// or is not among them any more, the next ones' turn comes at once. Thread-safe.
class PageNumbers : public PolledTarget {
 public:
  // Of each source: its number, or what its counters have grown by so far. A fault names the place,
  // or all those that were tried.
  using Sink =
      std::function<void(const SignalSource& source, const absl::StatusOr<CounterPoint>& number)>;

  // The request without an address. A counter that was not seen for longer than `longest_gap` is a
  // new one. `sink` must not call this.
  PageNumbers(PageRequest request, absl::Duration longest_gap, Sink sink);

  // What is picked from now on, and told of, when it returns.
  void Want(const NumbersWish& wish);

  std::string Tenant() override;  // the first of those who want it
  PageRequest First() override;
  std::optional<PageRequest> Take(absl::Time at, const absl::StatusOr<Page>& page) override;

 private:
  struct Picked {
    MetricSelector selector;
    std::unique_ptr<SeriesGrowth> growth;  // null: its value, not its rate
  };

  PageRequest Request() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void GoTo(size_t choice) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<CounterPoint> NumberOf(Picked& picked, absl::Time at,
                                        const absl::StatusOr<Page>& page) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const PageRequest request_;
  const absl::Duration longest_gap_;
  const Sink sink_;
  Mutex mutex_;
  std::map<SignalSource, Picked> picked_ ABSL_GUARDED_BY(mutex_);
  std::vector<IpAddress> addresses_ ABSL_GUARDED_BY(mutex_);
  size_t choice_ ABSL_GUARDED_BY(mutex_) = 0;  // of the addresses
  IpAddress asked_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> faults_ ABSL_GUARDED_BY(mutex_);  // of those tried in this poll
};

}  // namespace gpuscaler
