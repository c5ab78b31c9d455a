// Polls pages of metrics: each target again and again, all of them concurrently.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/periodic_thread.h"
#include "page/metrics_fetcher.h"
#include "page/poll_schedule.h"
#include "page/scrape_request.h"

namespace gpuscaler {

// What is polled, and what becomes of the pages. The poller calls one function of it at a time.
class PolledTarget {
 public:
  virtual ~PolledTarget() = default;

  // For whom it is read: where some have to wait, tenants take turns.
  virtual std::string Tenant() = 0;

  // What to ask for now that its turn has come.
  virtual ScrapeRequest First() = 0;

  // What came of it, and when. What to ask for besides, at once; nothing: that was all for now. On
  // the thread on which all pages come: must not block.
  virtual std::optional<ScrapeRequest> Take(absl::Time at, const absl::StatusOr<Page>& page) = 0;
};

// Thread-safe.
class ScrapePoller {
 public:
  // `name` is what `top -H` shows. `clock`, which outlives it, says when pages came; real time when
  // they are asked for.
  ScrapePoller(const std::string& name, const Clock& clock, absl::Duration interval,
               const FetchLimits& limits = {});
  ~ScrapePoller();  // at once: what is on its way is given up

  // These are polled from now on: new ones at once, those that were polled before go on. Of others
  // what is on its way may still be taken.
  void Poll(const std::set<std::shared_ptr<PolledTarget>>& targets);

 private:
  void StartDue();
  void Fetch(PollSchedule::Id id, const std::shared_ptr<PolledTarget>& target,
             ScrapeRequest request);

  const Clock& clock_;
  const SteadyClock real_;
  Mutex mutex_;
  PollSchedule schedule_ ABSL_GUARDED_BY(mutex_);
  std::map<std::shared_ptr<PolledTarget>, PollSchedule::Id> ids_ ABSL_GUARDED_BY(mutex_);
  std::map<PollSchedule::Id, std::shared_ptr<PolledTarget>> targets_ ABSL_GUARDED_BY(mutex_);
  PollSchedule::Id next_id_ ABSL_GUARDED_BY(mutex_) = 0;
  MetricsFetcher fetcher_;
  PeriodicThread starting_;  // ends first, then the fetcher: nothing is taken any more
};

}  // namespace gpuscaler
