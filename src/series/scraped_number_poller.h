// Polls pages of metrics for numbers on them: each at its address once in an interval for all who
// want it.
#pragma once

#include <map>
#include <memory>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "page/scrape_poller.h"
#include "series/scraped_numbers.h"

namespace gpuscaler {

// Thread-safe.
class ScrapedNumberPoller {
 public:
  struct Times {
    absl::Duration interval;
    absl::Duration longest_gap;  // ScrapedNumbers'
  };
  // `sink` gets what came of each poll, on a thread of this or of Poll(), and must not block.
  // `clock` outlives it.
  ScrapedNumberPoller(const Clock& clock, const Times& times, ScrapedNumbers::Sink sink,
                      const FetchLimits& limits = {});

  // These are polled from now on, and no others: of those that are not among them nothing is told
  // any more. Their answer would be taken for that of what replaced them.
  void Poll(const std::map<ScrapeRequest, NumbersInterest>& pages);

 private:
  const Times times_;
  const ScrapedNumbers::Sink sink_;
  Mutex mutex_;
  std::map<ScrapeRequest, std::shared_ptr<ScrapedNumbers>> pages_ ABSL_GUARDED_BY(mutex_);
  ScrapePoller poller_;  // last: it ends before what it tells
};

}  // namespace gpuscaler
