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

struct StreamLife {
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
  ActivityStream(std::shared_ptr<ServerCall> call, const StreamLife& life,
                 const TriggerEvaluator& evaluator, RepeatBudget& budget,
                 std::shared_ptr<CachedTrigger> trigger);

  size_t size_bytes() const { return trigger_->size_bytes(); }
  StreamInterest interest() const override;

  void Refresh(absl::Time now) override;
  // While active, evaluates once a second, or less often while its evidence is in the window. The
  // end of activity is not sent, so no message is late.
  void Changed(absl::Time now) override;

 private:
  absl::Time Due() const override;
  void RenewLeases(const ParsedTrigger& parsed, absl::Time now);
  void Update(const Evaluation& evaluation, absl::Time now);
  // Schedules the next evaluation when the state is unknown.
  void SkipUnknown(absl::Time now);

  const StreamLife life_;
  const TriggerEvaluator& evaluator_;
  RepeatBudget& budget_;
  const std::shared_ptr<CachedTrigger> trigger_;
  mutable Mutex show_mutex_;
  // The newest decision that the stream has seen: its activity and its sequence number.
  bool was_active_ ABSL_GUARDED_BY(show_mutex_) = false;
  int64_t shown_sequence_ ABSL_GUARDED_BY(show_mutex_) = 0;
  // Only while active.
  absl::Time ignore_changes_until_ ABSL_GUARDED_BY(show_mutex_) = absl::InfinitePast();
  absl::Time renew_leases_at_ ABSL_GUARDED_BY(show_mutex_) = absl::InfiniteFuture();
  RepeatSchedule repeats_ ABSL_GUARDED_BY(show_mutex_);
  // When time alone may change the decision.
  absl::Time reevaluate_at_ ABSL_GUARDED_BY(show_mutex_) = absl::InfiniteFuture();
};

}  // namespace gpuscaler
