// One page of metrics at one address, read again and again, and the numbers that triggers pick from
// it.
#pragma once

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
#include "page/gauge_sum.h"
#include "page/prometheus_metric.h"
#include "page/scrape_poller.h"
#include "page/scrape_request.h"
#include "page/series_picks.h"
#include "series/counter_window.h"
#include "series/series_growth.h"

namespace gpuscaler {

// What is wanted of a page; each one's place is a MetricsPage.
using NumbersInterest = std::map<SignalSource, MetricSelector>;

// Read once for all sources that are on it, in one pass. Thread-safe.
class ScrapedNumbers : public PolledTarget {
 public:
  // Of each source what it is at that address: its number, or what its counters have grown by so
  // far. A fault names the place.
  using Sink = std::function<void(const SignalSource& source, const IpAddress& address,
                                  const absl::StatusOr<CounterPoint>& number)>;

  // A counter that was not seen for longer than `longest_gap` is a new one. `sink` must not call
  // this.
  ScrapedNumbers(ScrapeRequest request, absl::Duration longest_gap, Sink sink);

  // What is picked and told of from now on: nothing else is told when it returns. Whoever is new is
  // told at once where the page could not be read the last time. Waits for no page that is being
  // read.
  void Want(const NumbersInterest& interest);

  std::string Tenant() override;  // the first of those who want it
  ScrapeRequest First() override { return request_; }
  std::optional<ScrapeRequest> Take(absl::Time at, const absl::StatusOr<Page>& page) override;

 private:
  // Want() makes it; then it is the poller's alone, which has one page taken at a time.
  struct Picked {
    SeriesTaker& taker();
    absl::StatusOr<CounterPoint> NumberAt(absl::Time at);  // of what was taken

    MetricSelector selector;
    IfAbsent if_absent = IfAbsent::kError;
    GaugeSum sum;
    std::unique_ptr<SeriesGrowth> growth;  // null: its value, not its rate
    std::string tenant;
    std::optional<absl::StatusOr<CounterPoint>> number;  // on the page that is read
  };

  std::vector<std::shared_ptr<Picked>> AllPicked();
  void Read(absl::Time at, const Page& page);
  absl::StatusOr<CounterPoint> WithPlace(absl::StatusOr<CounterPoint> number) const;

  const ScrapeRequest request_;
  const absl::Duration longest_gap_;
  const Sink sink_;
  Mutex mutex_;
  std::map<SignalSource, std::shared_ptr<Picked>> picked_ ABSL_GUARDED_BY(mutex_);
  absl::Status newest_ ABSL_GUARDED_BY(mutex_);  // that the page was there at the last poll
};

}  // namespace gpuscaler
