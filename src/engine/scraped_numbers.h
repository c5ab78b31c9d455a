// One metrics endpoint at one address, and the numbers that triggers select from it.
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
#include "engine/counter_window.h"
#include "engine/series_growth.h"
#include "model/signal_source.h"
#include "page/gauge_sum.h"
#include "page/prometheus_metric.h"
#include "page/scrape_poller.h"
#include "page/scrape_request.h"
#include "page/series_queries.h"

namespace gpuscaler {

// The numbers needed from one endpoint. The place of each source is a MetricsEndpoint.
using NumbersInterest = std::map<SignalSource, MetricSelector>;

// One pass over the exposition serves all sources. Thread-safe.
class ScrapedNumbers : public PolledTarget {
 public:
  // Gets the number of each source: its value, or the total growth of its counters. Errors name the
  // place.
  using Sink = std::function<void(const SignalSource& source, const IpAddress& address,
                                  const absl::StatusOr<CounterPoint>& number)>;

  // A counter that was missing for longer than `max_gap` counts as new. `sink` must not call
  // this object.
  ScrapedNumbers(ScrapeRequest request, absl::Duration max_gap, Sink sink);

  // Replaces the numbers to select. After it returns, `sink` gets no others. If the last fetch
  // failed, `sink` gets that error for new sources at once. Does not wait for an exposition that is
  // being parsed.
  void SetInterest(const NumbersInterest& interest);

  std::string Tenant() override;  // the tenant of the first source
  ScrapeRequest FirstRequest() override { return request_; }
  std::optional<ScrapeRequest> Take(absl::Time at, const absl::StatusOr<Page>& page) override;

 private:
  // Created by SetInterest(). Afterwards used by the poller only, which takes one exposition at a
  // time.
  struct Picked {
    SeriesConsumer& consumer();
    absl::StatusOr<CounterPoint> NumberAt(absl::Time at);  // from the samples taken

    MetricSelector selector;
    bool zero_if_absent = false;
    GaugeSum sum;
    std::unique_ptr<SeriesGrowth> growth;  // null: the value is used, not the rate
    std::string tenant;
    std::optional<absl::StatusOr<CounterPoint>> number;  // in the exposition that is being read
  };

  std::vector<std::shared_ptr<Picked>> AllPicked();
  void Read(absl::Time at, const Page& page);

  const ScrapeRequest request_;
  const absl::Duration longest_gap_;
  const Sink sink_;
  Mutex mutex_;
  std::map<SignalSource, std::shared_ptr<Picked>> picked_ ABSL_GUARDED_BY(mutex_);
  absl::Status newest_ ABSL_GUARDED_BY(mutex_);  // the newest fetch's
};

}  // namespace gpuscaler
