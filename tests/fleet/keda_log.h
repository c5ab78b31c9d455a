// A log of KEDA's requests for one trigger; the tests check its answers during faults.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "serve/scaler_client.h"

namespace gpuscaler {

struct KedaAnswer {
  absl::Time asked;
  absl::Time at;                 // when the answer arrived
  absl::StatusOr<double> value;  // GetMetrics
  absl::StatusOr<bool> active;   // IsActive
};

// Sends both requests every 50 ms, and keeps a StreamIsActive open as KEDA does: reopened 2 s after
// it ended. Thread-safe.
class KedaLog {
 public:
  KedaLog(const ScalerClientOptions& options, TriggerRef trigger);
  ~KedaLog();

  std::vector<KedaAnswer> Since(absl::Time from) const;

  // Returns the time, at or after `from`, since which all answers were `value` (and active) for a
  // second. Returns infinite if that does not happen within `timeout`.
  absl::Time Settled(double value, absl::Time from, absl::Duration timeout = absl::Minutes(1));

  // Waits for the answer to a request that starts now.
  KedaAnswer Next();

  // Returns how often StreamIsActive sent `true`.
  int pushed() const;

 private:
  class Watcher;

  void Query();

  const TriggerRef trigger_;
  std::unique_ptr<ScalerClient> client_;
  mutable Mutex mutex_;
  CondVar answered_;
  std::vector<KedaAnswer> answers_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::unique_ptr<Watcher> watcher_;
  std::thread thread_;
};

// Returns "180 for 6.0 s, 200 for 3.1 s, UNAVAILABLE for 0.2 s": run-length encoded answers.
std::string HistoryText(const std::vector<KedaAnswer>& answers);

// Longer than any answer takes, even during a VM pause of some seconds.
constexpr absl::Duration kHangTimeout = absl::Seconds(30);

// The longest wait in a recovery, plus as much again for a busy machine.
constexpr absl::Duration kUndisturbed = absl::Seconds(5);   // no wait
constexpr absl::Duration kReconnected = absl::Seconds(15);  // the longest backoff, 10 s
constexpr absl::Duration kLookedUp = absl::Seconds(20);     // 10 s between two DNS queries

// Prints a row of the table of faults: KEDA's answers, and the time from the fault's end to the
// right answer. Fails if that took longer than `at_most`.
void ReportFault(const std::string& fault, const std::vector<KedaAnswer>& answers,
                 absl::Duration recovery, absl::Duration at_most);

}  // namespace gpuscaler
