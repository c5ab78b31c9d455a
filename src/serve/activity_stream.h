// StreamIsActive: sends `true` when a workload becomes active.
#pragma once

#include <memory>

#include "absl/time/time.h"
#include "base/mutex.h"
#include "serve/repeat_schedule.h"
#include "serve/scaler_stream.h"
#include "serve/trigger_evaluator.h"

namespace gpuscaler {

// Sends headers when it opens, so that the client sees the open stream. Sends `true` as soon as the
// workload is active, whenever it becomes active again, and repeatedly while there is no replica
// (RepeatSchedule). Never sends `false`: KEDA up to 2.17 then deactivates the workload without its
// cooldown, and later versions ignore it. Bad metadata ends the stream. Thread-safe.
class ActivityStream : public ScalerStream {
 public:
  // `jitter` is the factor of its intervals, 0.8 to 1.2. `evaluator` and `budget` must outlive it.
  ActivityStream(std::shared_ptr<ServerCall> call, absl::Time ends_at, double jitter,
                 const TriggerEvaluator& evaluator, RepeatBudget& budget,
                 std::shared_ptr<TriggerEntry> trigger);

  StreamInterest interest() const override;

  // While the workload is active, evaluates once a second, or every 16 to 24 s while readings in
  // the window prove its activity. A request's decision that proves it replaces an evaluation. This
  // delays no message, because the end of activity is not sent.
  void Changed(absl::Time now) override;

 private:
  void Evaluate(absl::Time now) override;
  absl::Time Due() const override;
  void RenewLeases(const ParsedTrigger& parsed, absl::Time now);
  void Update(const Evaluation& evaluation, absl::Time now);
  // Returns until when a decision of `decided_at` proves activity without another one.
  absl::Time ProvenUntil(const Decision& decision, absl::Time decided_at) const;
  // Returns true if a request's decision, newer than the last one here, proves that the workload is
  // still active, and schedules the next evaluation after that.
  bool IsProvenByRequest(const ParsedTrigger& parsed, absl::Time now);
  // Schedules the next evaluation when the state is unknown.
  void SkipUnknown(absl::Time now);

  const double jitter_;
  const TriggerEvaluator& evaluator_;
  RepeatBudget& budget_;
  mutable Mutex push_mutex_;
  // The newest decision that the stream has seen: its activity and its sequence number.
  bool was_active_ ABSL_GUARDED_BY(push_mutex_) = false;
  int64_t pushed_sequence_ ABSL_GUARDED_BY(push_mutex_) = 0;
  // Only while active.
  absl::Time ignore_changes_until_ ABSL_GUARDED_BY(push_mutex_) = absl::InfinitePast();
  absl::Time renew_leases_at_ ABSL_GUARDED_BY(push_mutex_) = absl::InfiniteFuture();
  RepeatSchedule repeats_ ABSL_GUARDED_BY(push_mutex_);
  // When time alone may change the decision.
  absl::Time reevaluate_at_ ABSL_GUARDED_BY(push_mutex_) = absl::InfiniteFuture();
};

}  // namespace gpuscaler
