// One number over time: of a page of metrics, or of a queue.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "model/engine_metric.h"
#include "model/signal_history.h"
#include "series/counter_window.h"

namespace gpuscaler {

// Not thread-safe.
class NumberTimeline {
 public:
  // Whether what it takes counts up, and its growth a second is asked for.
  explicit NumberTimeline(bool is_rate) : is_rate_(is_rate) {}

  // Later than all before. An error: it could not be read, and why; what was read before stays.
  // `note`: SignalSeries'.
  void Take(const absl::StatusOr<CounterPoint>& point, const std::string& note = "");

  // Readings before then, which no question looks back on, may go.
  void Forget(absl::Time before);

  size_t Bytes() const;  // of memory, about

  // Points as ModelTimeline's; of the question the times alone count. Without what the series is
  // called.
  SignalSeries Answer(const EngineQuestion& question, absl::Time now,
                      absl::Duration longest_gap) const;

 private:
  std::vector<SignalPoint> PointsFrom(size_t first, const CounterLookBack& look_back) const;

  const bool is_rate_;
  std::vector<CounterPoint> points_;
  absl::Time answers_since_ = absl::InfiniteFuture();
  absl::Status failure_;  // of the newest reading
  std::string note_;      // of the newest one that did not fail
};

}  // namespace gpuscaler
