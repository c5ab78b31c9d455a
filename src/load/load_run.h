// An open loop: each request is sent at its time, whether or not earlier ones were answered, and
// its latency counts from that time. What stalls cannot hide behind requests that were never sent
// ("coordinated omission").
#pragma once

#include <deque>
#include <map>
#include <string>

#include "absl/functional/function_ref.h"
#include "base/clock.h"
#include "load/arrivals.h"
#include "load/latency_counts.h"
#include "load/sender.h"

namespace gpuscaler {

struct LoadLimits {
  int concurrency = 1000;  // requests under way at once, at most; others wait for their end
  absl::Duration timeout = absl::Seconds(60);  // what waits longer for that is not sent at all
};

// Sent so much after its time, a request is late.
constexpr absl::Duration kLate = absl::Milliseconds(10);

struct LoadTally {
  int64_t due = 0;       // their time has come
  int64_t sent = 0;      // of these
  int64_t late = 0;      // of those sent
  int64_t not_sent = 0;  // of those due, given up
  int64_t answered = 0;  // without an error
  int64_t cut_off = 0;   // sent, and neither answered nor failed when it was stopped
  std::map<std::string, int64_t> errors;  // of those sent, by kind
  LatencyCounts latency;                  // of those answered, from their intended time
  absl::Duration sending;                 // from the start to the end of arrivals, or to the stop
  int in_flight = 0;
  int64_t waiting = 0;  // due and not sent yet
};

int64_t ErrorsOf(const LoadTally& tally);  // failed or not sent

// Not thread-safe.
class LoadRun {
 public:
  // `sender` and `clock` outlive it. Its time begins now. `first_id` is another where the sender
  // may still have answers to requests of a run that was stopped: behind all that were sent then.
  LoadRun(const LoadLimits& limits, Arrivals arrivals, Sender& sender, const Clock& clock,
          int64_t first_id = 0);

  // Until all is answered, or `go_on` says no: it is asked every 50 ms or oftener.
  const LoadTally& Run(absl::FunctionRef<bool()> go_on);

  const LoadTally& tally() const { return tally_; }
  absl::Duration passed() const { return clock_.Now() - started_at_; }

  // The latencies since it was last asked.
  LatencyCounts TakeRecent();

 private:
  void TakeDue(absl::Duration now);
  void SendWaiting(absl::Duration now);
  void Note(const Answered& answered, absl::Duration now);
  absl::Duration Pause(absl::Duration now) const;
  bool Done() const { return !next_ && waiting_.empty() && under_way_.empty(); }
  void Stop();

  const LoadLimits limits_;
  Arrivals arrivals_;
  Sender& sender_;
  const Clock& clock_;
  const absl::Time started_at_;
  std::optional<absl::Duration> next_;           // the next arrival
  std::deque<absl::Duration> waiting_;           // intended times, oldest first
  std::map<int64_t, absl::Duration> under_way_;  // intended times by id
  int64_t next_id_;
  LoadTally tally_;
  LatencyCounts recent_;
};

}  // namespace gpuscaler
