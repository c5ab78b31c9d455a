// One number over time, from a metrics endpoint or a queue.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "engine/counter_window.h"
#include "model/engine_metric.h"
#include "model/signal_history.h"

namespace gpuscaler {

// Not thread-safe.
class NumberTimeline {
 public:
  // `is_rate`: the number is a counter, and points are its growth per second.
  explicit NumberTimeline(bool is_rate) : is_rate_(is_rate) {}

  // `point` must be later than all before. An error is kept as the gap, and earlier points stay.
  // `note`: SignalSeries::note.
  void AddPoint(const absl::StatusOr<CounterPoint>& point, const std::string& note = "");

  // Points before `before`, which no query looks back on, may be deleted.
  void Forget(absl::Time before);

  size_t Bytes() const;  // approximate memory use

  // The series has no name. Its points are as those of ModelTimeline::Points(). Only the times of
  // `query` are used.
  SignalSeries Answer(const EngineQuery& query, absl::Time now, absl::Duration max_gap) const;

 private:
  std::vector<SignalPoint> PointsFrom(size_t first, const CounterLookBack& look_back) const;

  const bool is_rate_;
  std::vector<CounterPoint> points_;
  absl::Time answers_since_ = absl::InfiniteFuture();
  absl::Status failure_;  // the newest reading's
  std::string note_;      // from the newest successful reading
};

}  // namespace gpuscaler
