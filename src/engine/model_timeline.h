// The readings of one model of an engine over time, or of the sum of its models.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "engine/batch_limit_estimator.h"
#include "engine/demand_accumulator.h"
#include "engine/first_token_bins.h"
#include "engine/stalled_engine_detector.h"
#include "engine/stored_readings.h"
#include "model/engine_batch.h"
#include "model/engine_demand.h"
#include "model/engine_metric.h"
#include "model/signal_history.h"

namespace gpuscaler {

// Not thread-safe.
class ModelTimeline {
 public:
  // `at` must be later than in all calls before.
  void AddReading(absl::Time at, ModelReading reading);

  // The next reading is of another model. Discards the learnt batch limit and the demand per model.
  void BeginAnotherModel();

  // Readings before `before`, which no query looks back on, may be deleted.
  void Forget(absl::Time before) { readings_.Forget(before); }
  void ForgetHistograms();
  // The approximate memory use.
  size_t Bytes() const {
    return sizeof(*this) + readings_.Bytes() + demand_.Bytes() + first_tokens_.Bytes();
  }

  // Returns a point for each reading within the query's `look_back`, after one for the last
  // reading before it; oldest first. A value from counters covers the query's window before its
  // point. The time between readings farther apart than `max_gap` does not count.
  std::vector<SignalPoint> Points(const EngineQuery& query, absl::Time now,
                                  absl::Duration max_gap) const;

  // Returns what the newest pressure is measured against, for the explanation. Empty: no readings.
  std::string PressureBasis(const EngineQuery& query) const;

  // Returns the learnt limit, and the batch at each of Points().
  EngineBatch Batch(const EngineQuery& query, absl::Time now) const;

  // Returns nullopt if no reading had requests and counters.
  std::optional<EngineDemand> Demand(const EngineQuery& query) const;

  std::optional<absl::Time> UnchangedSince() const { return stalled_.Since(); }

 private:
  StoredReadings readings_;
  StalledEngineDetector stalled_;
  BatchLimitEstimator batch_limit_;
  DemandAccumulator demand_;
  FirstTokenBins first_tokens_;
};

}  // namespace gpuscaler
