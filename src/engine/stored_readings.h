// What one replica's engine said over time of one model, or of all together: of each reading what
// questions are answered from, and no more.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/time/time.h"
#include "engine/engine_reading.h"

namespace gpuscaler {

// At one instant; the fields are ModelReading's.
struct TimedReading {
  absl::Time at;
  bool goes_on = true;  // its counters went on from those of the reading before
  std::optional<double> waiting;
  std::optional<double> running;
  std::optional<double> kv_cache_usage_ratio;
  std::optional<double> limit;
  std::optional<double> requests_done;
  std::optional<double> queued_requests;
  std::optional<double> queue_seconds;
  std::shared_ptr<const Histogram> first_token_seconds;   // null: there is none
  std::shared_ptr<const Histogram> output_token_seconds;  // null: there is none
};

using TimedNumber = std::optional<double> TimedReading::*;
using TimedHistogram = std::shared_ptr<const Histogram> TimedReading::*;

// Whether the counters of the second went on from those of the first: the process is the same, and
// none is lower. Where one was reset, all were, though others may be higher again by now.
bool CountersGoOn(const ModelReading& older, const ModelReading& newer);

// Not thread-safe.
class StoredReadings {
 public:
  // Later than all before.
  void Take(absl::Time at, ModelReading reading);

  // Readings before then, which no question looks back on, may go.
  void Forget(absl::Time before);
  void ForgetHistograms();

  std::span<const TimedReading> all() const { return readings_; }  // oldest first
  size_t Bytes() const;                                            // of memory, about

 private:
  std::vector<TimedReading> readings_;
  ModelReading newest_;
  size_t histogram_bytes_ = 0;
};

}  // namespace gpuscaler
