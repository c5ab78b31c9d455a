// StreamMetricSpec: sends the spec of GetMetricSpec, and again when the profiles change it.
#pragma once

#include <memory>
#include <optional>

#include "absl/time/time.h"
#include "base/mutex.h"
#include "externalscaler.pb.h"
#include "serve/activity_stream.h"
#include "serve/scaler_stream.h"
#include "serve/trigger_cache.h"
#include "serve/trigger_evaluator.h"

namespace gpuscaler {

// Each message costs KEDA a full reconcile, so an unchanged spec is not sent.
class SpecStream : public ScalerStream<externalscaler::GetMetricSpecResponse> {
 public:
  // `evaluator` must outlive it.
  SpecStream(std::shared_ptr<ServerCall> call, const StreamSchedule& schedule,
             const TriggerEvaluator& evaluator, std::shared_ptr<TriggerEntry> trigger);

  size_t size_bytes() const { return trigger_->size_bytes(); }
  StreamInterest interest() const override { return {}; }  // only profiles change it

  void Refresh(absl::Time now) override;

 private:
  absl::Time Due() const override { return schedule_.ends_at; }

  const StreamSchedule schedule_;
  const TriggerEvaluator& evaluator_;
  const std::shared_ptr<TriggerEntry> trigger_;
  Mutex push_mutex_;
  std::optional<MetricSpec> shown_ ABSL_GUARDED_BY(push_mutex_);
  int64_t version_ ABSL_GUARDED_BY(push_mutex_) = 0;  // newest profiles seen
};

}  // namespace gpuscaler
