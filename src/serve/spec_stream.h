// StreamMetricSpec: sends the spec of GetMetricSpec, and again when the profiles change it.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "base/mutex.h"
#include "serve/scaler_stream.h"
#include "serve/trigger_evaluator.h"

namespace gpuscaler {

// Each message costs KEDA a full reconcile, so an unchanged spec is not sent. Thread-safe.
class SpecStream : public ScalerStream {
 public:
  // `evaluator` must outlive it.
  SpecStream(std::shared_ptr<ServerCall> call, absl::Time ends_at,
             const TriggerEvaluator& evaluator, std::shared_ptr<TriggerEntry> trigger)
      : ScalerStream(std::move(call), ends_at, std::move(trigger)), evaluator_(evaluator) {}

  StreamInterest interest() const override { return {}; }  // only profiles change it

 private:
  void Evaluate(absl::Time now) override;

  const TriggerEvaluator& evaluator_;
  Mutex push_mutex_;
  std::optional<MetricSpec> shown_ ABSL_GUARDED_BY(push_mutex_);
  int64_t version_ ABSL_GUARDED_BY(push_mutex_) = 0;  // newest profiles seen
};

}  // namespace gpuscaler
