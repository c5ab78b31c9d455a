// Polls metrics endpoints for single numbers. Each endpoint is read once per interval for all
// triggers that need it.
#pragma once

#include <map>
#include <memory>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "engine/scraped_numbers.h"
#include "page/scrape_poller.h"

namespace gpuscaler {

// Thread-safe.
class ScrapedNumberPoller {
 public:
  struct Times {
    absl::Duration interval;
    absl::Duration max_gap;  // as in ScrapedNumbers
  };
  // `sink` gets the result of each poll, on the poller's thread or in Poll(), and must not block.
  // `clock` must outlive the poller.
  ScrapedNumberPoller(const Clock& clock, const Times& times, ScrapedNumbers::Sink sink,
                      const FetchLimits& limits = {});

  // Polls exactly `pages` from now on. Results of removed pages are dropped: they could be mistaken
  // for results of their replacements.
  void Poll(const std::map<ScrapeRequest, NumbersInterest>& pages);

 private:
  const Times times_;
  const ScrapedNumbers::Sink sink_;
  Mutex mutex_;
  std::map<ScrapeRequest, std::shared_ptr<ScrapedNumbers>> pages_ ABSL_GUARDED_BY(mutex_);
  ScrapePoller poller_;  // last: destroyed before `pages_` and `sink_`
};

}  // namespace gpuscaler
