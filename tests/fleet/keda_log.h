// What KEDA is told of one trigger, all the time: the answers that faults are evaluated by.
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
  absl::Time at;                 // when it came
  absl::StatusOr<double> value;  // GetMetrics
  absl::StatusOr<bool> active;   // IsActive
};

// Asks both every 50 ms, and holds a StreamIsActive as KEDA does: opened anew 2 s after it ended.
// Thread-safe.
class KedaLog {
 public:
  KedaLog(const ScalerClientOptions& options, TriggerRef trigger);
  ~KedaLog();

  std::vector<KedaAnswer> Since(absl::Time from) const;

  // When the answers, from `from` on, began to be `value` (and active) and nothing else for a
  // second; infinite when that did not come about within `patience`.
  absl::Time Settled(double value, absl::Time from, absl::Duration timeout = absl::Minutes(1));

  // The next question that begins now is answered.
  KedaAnswer Next();

  // How often StreamIsActive sent `true`.
  int pushed() const;

 private:
  class Watcher;

  void Ask();

  const TriggerRef trigger_;
  std::unique_ptr<ScalerClient> client_;
  mutable Mutex mutex_;
  CondVar answered_;
  std::vector<KedaAnswer> answers_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::unique_ptr<Watcher> watcher_;
  std::thread thread_;
};

// "180 for 6.0 s, 200 for 3.1 s, UNAVAILABLE for 0.2 s": runs of the same answer.
std::string StoryOf(const std::vector<KedaAnswer>& answers);

// Longer than any answer takes, also on a machine that stands still for some seconds.
constexpr absl::Duration kCallThatHangs = absl::Seconds(30);

// What a recovery waits for at most, and as much again as a busy machine may take for it.
constexpr absl::Duration kUndisturbed = absl::Seconds(5);   // nothing
constexpr absl::Duration kReconnected = absl::Seconds(15);  // the longest delay, 10 s
constexpr absl::Duration kLookedUp = absl::Seconds(20);     // 10 s between two questions to DNS

// A line of the table of faults: what KEDA saw, and how long after the fault's end it saw right;
// a failure when that took longer than `at_most`.
void TellFault(const std::string& fault, const std::vector<KedaAnswer>& answers,
               absl::Duration recovery, absl::Duration at_most);

}  // namespace gpuscaler
