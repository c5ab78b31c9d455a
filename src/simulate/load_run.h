// An open loop: each request is sent at its intended time, even if earlier ones are unanswered, and
// its latency counts from that time. A stall therefore affects all requests due in it, which avoids
// "coordinated omission".
#pragma once

#include <deque>
#include <map>
#include <string>

#include "absl/functional/function_ref.h"
#include "base/clock.h"
#include "simulate/arrivals.h"
#include "simulate/latency_counts.h"
#include "simulate/sender.h"

namespace gpuscaler {

struct LoadLimits {
  int concurrency = 1000;                      // most requests in flight; further ones wait
  absl::Duration timeout = absl::Seconds(60);  // a request that waits longer is not sent
};

// A request sent later than this after its intended time is late.
constexpr absl::Duration kLate = absl::Milliseconds(10);

struct LoadTally {
  int64_t due = 0;                        // their intended time has come
  int64_t sent = 0;                       // part of due
  int64_t late = 0;                       // part of sent
  int64_t not_sent = 0;                   // part of due; waited too long
  int64_t answered = 0;                   // without an error
  int64_t cut_off = 0;                    // sent, neither answered nor failed when stopped
  std::map<std::string, int64_t> errors;  // part of sent, by kind
  LatencyCounts latency;                  // answered requests, from their intended time
  absl::Duration sending;                 // from the start to the end of arrivals, or until stopped
  int in_flight = 0;
  int64_t waiting = 0;  // due and not sent yet
};

int64_t ErrorsOf(const LoadTally& tally);  // failed or not sent

// Not thread-safe.
class LoadRun {
 public:
  // Time starts now. `sender` and `clock` must outlive this. If the sender may still return answers
  // to a stopped run, `first_id` must exceed all ids of that run.
  LoadRun(const LoadLimits& limits, Arrivals arrivals, Sender& sender, const Clock& clock,
          int64_t first_id = 0);

  // Blocks until all requests are answered or `keep_running` returns false. Calls it at least every
  // 50 ms.
  const LoadTally& Run(absl::FunctionRef<bool()> keep_running);

  const LoadTally& tally() const { return tally_; }
  absl::Duration passed() const { return clock_.Now() - started_at_; }

  // Returns the latencies since the last call.
  LatencyCounts TakeRecent();

 private:
  void QueueDue(absl::Duration now);
  void SendWaiting(absl::Duration now);
  void Record(const Answered& answered, absl::Duration now);
  absl::Duration NextWait(absl::Duration now) const;
  bool Done() const { return !next_ && waiting_.empty() && in_flight_.empty(); }
  void Stop();

  const LoadLimits limits_;
  Arrivals arrivals_;
  Sender& sender_;
  const Clock& clock_;
  const absl::Time started_at_;
  std::optional<absl::Duration> next_;           // next intended time
  std::deque<absl::Duration> waiting_;           // intended times, oldest first
  std::map<int64_t, absl::Duration> in_flight_;  // intended times by id
  int64_t next_id_;
  LoadTally tally_;
  LatencyCounts recent_;
};

}  // namespace gpuscaler
