// StreamIsActive: `true` when a workload becomes active.
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
  double jitter;  // 0.8-1.2: the stream's own share of randomness
};

// Sends headers when it opens, so that a client knows that it is open; `true` as soon as the
// workload is active and whenever it becomes active again; and `true` again while there is no
// replica (RepeatSchedule). Never sends `false`: KEDA up to 2.17 deactivates the workload on it
// without its cooldown, later versions ignore it. Bad metadata ends the stream.
class ActivityStream : public ScalerStream<externalscaler::IsActiveResponse> {
 public:
  // `evaluator` and `budget` outlive it.
  ActivityStream(std::shared_ptr<ServerCall> call, const StreamLife& life,
                 const TriggerEvaluator& evaluator, RepeatBudget& budget,
                 std::shared_ptr<CachedTrigger> trigger);

  size_t size_bytes() const { return trigger_->size_bytes(); }
  // What its trigger is decided on.
  StreamInterest interest() const override;

  void Refresh(absl::Time now) override;
  // An active stream evaluates once a second, or when the evidence leaves its window: the end of
  // activity is not sent, so no message is late.
  void Changed(absl::Time now) override;

 private:
  absl::Time Due() const override;
  void Hold(const ParsedTrigger& parsed, absl::Time now);
  void Show(const Evaluation& evaluation, absl::Time now);
  // The state is unknown.
  void Skip(absl::Time now);

  const StreamLife life_;
  const TriggerEvaluator& evaluator_;
  RepeatBudget& budget_;
  const std::shared_ptr<CachedTrigger> trigger_;
  mutable Mutex show_mutex_;
  bool was_active_ ABSL_GUARDED_BY(show_mutex_) = false;  // by the newest cached decision seen
  int64_t shown_ ABSL_GUARDED_BY(show_mutex_) = 0;        // the sequence of that decision
  // When a change is worth a look.
  absl::Time calm_until_ ABSL_GUARDED_BY(show_mutex_) = absl::InfinitePast();
  absl::Time hold_again_at_ ABSL_GUARDED_BY(show_mutex_) = absl::InfiniteFuture();
  RepeatSchedule repeats_ ABSL_GUARDED_BY(show_mutex_);
  // When there may be another cached decision though nothing changes until then.
  absl::Time look_again_at_ ABSL_GUARDED_BY(show_mutex_) = absl::InfiniteFuture();
};

}  // namespace gpuscaler
