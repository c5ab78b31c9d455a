// Polls pages of metrics for numbers on them: each at its address once in an interval for all who
// want it.
#pragma once

#include <map>
#include <memory>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "page/page_poller.h"
#include "series/page_numbers.h"

namespace gpuscaler {

// Thread-safe.
class PageNumberPoller {
 public:
  struct Times {
    absl::Duration interval;
    absl::Duration longest_gap;  // PageNumbers'
  };
  // `sink` gets what came of each poll, on a thread of this or of Poll(), and must not block.
  // `clock` outlives it.
  PageNumberPoller(const Clock& clock, const Times& times, PageNumbers::Sink sink,
                   const FetchLimits& limits = {});

  // These are polled from now on, and no others: of those that are not among them nothing is told
  // any more. Their answer would be taken for that of what replaced them.
  void Poll(const std::map<PageRequest, NumbersWish>& pages);

 private:
  const Times times_;
  const PageNumbers::Sink sink_;
  Mutex mutex_;
  std::map<PageRequest, std::shared_ptr<PageNumbers>> pages_ ABSL_GUARDED_BY(mutex_);
  PagePoller poller_;  // last: it ends before what it tells
};

}  // namespace gpuscaler
