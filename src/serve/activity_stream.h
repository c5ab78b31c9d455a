// StreamIsActive: sends `true` when a workload becomes active.
#pragma once

#include <memory>

#include "absl/time/time.h"
#include "base/mutex.h"
#include "externalscaler.pb.h"
#include "serve/repeat_schedule.h"
#include "serve/scaler_stream.h"
#include "serve/trigger_cache.h"
#include "serve/trigger_evaluator.h"

namespace gpuscaler {

struct StreamSchedule {
  absl::Time ends_at;
  double jitter;  // 0.8-1.2: this stream's factor for its intervals
};

// Sends headers when it opens, so that the client sees the open stream. Sends `true` as soon as the
// workload is active, whenever it becomes active again, and repeatedly while there is no replica
// (RepeatSchedule). Never sends `false`: KEDA up to 2.17 then deactivates the workload without its
// cooldown, and later versions ignore it. Bad metadata ends the stream.
class ActivityStream : public ScalerStream<externalscaler::IsActiveResponse> {
 public:
  // `evaluator` and `budget` must outlive it.
  ActivityStream(std::shared_ptr<ServerCall> call, const StreamSchedule& schedule,
                 const TriggerEvaluator& evaluator, RepeatBudget& budget,
                 std::shared_ptr<TriggerEntry> trigger);

  size_t size_bytes() const { return trigger_->size_bytes(); }
  StreamInterest interest() const override;

  void Refresh(absl::Time now) override;
  // While the workload is active, evaluates once a second, or every 10 to 15 s while readings in
  // the window prove its activity. No message is late for that, as the end of activity is not sent.
  void Changed(absl::Time now) override;

 private:
  absl::Time Due() const override;
  void RenewLeases(const ParsedTrigger& parsed, absl::Time now);
  void Update(const Evaluation& evaluation, absl::Time now);
  // Schedules the next evaluation when the state is unknown.
  void SkipUnknown(absl::Time now);

  const StreamSchedule schedule_;
  const TriggerEvaluator& evaluator_;
  RepeatBudget& budget_;
  const std::shared_ptr<TriggerEntry> trigger_;
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
