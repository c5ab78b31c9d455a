// Polls metrics endpoints: each target once per interval, all of them concurrently.
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

// A polled target and the consumer of its responses. The poller calls one function at a time.
class PolledTarget {
 public:
  virtual ~PolledTarget() = default;

  // If targets have to wait, tenants take turns.
  virtual std::string Tenant() = 0;

  virtual ScrapeRequest FirstRequest() = 0;

  // Takes a response that arrived at `at`. Returns another request of this poll, which is sent at
  // once, or nullopt to end the poll. Must not block: all responses come on one thread.
  virtual std::optional<ScrapeRequest> Take(absl::Time at, const absl::StatusOr<Page>& page) = 0;
};

// Thread-safe.
class ScrapePoller {
 public:
  // `name` is shown by `top -H`. `clock` must outlive the poller and dates the responses. Polls are
  // scheduled by real time.
  ScrapePoller(const std::string& name, const Clock& clock, absl::Duration interval,
               const FetchLimits& limits = {});
  ~ScrapePoller();  // cancels requests in flight and returns at once

  // Polls exactly `targets` from now on. New ones are polled at once, the others continue. A
  // response of a removed target that is in flight may still be taken.
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
  PeriodicThread starting_;  // destroyed first, then the fetcher: no more responses are taken
};

}  // namespace gpuscaler
