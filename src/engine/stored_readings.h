// The readings of one model of an engine, or of the sum of its models. Keeps only the fields that
// answer queries.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/time/time.h"
#include "engine/engine_reading.h"

namespace gpuscaler {

// One reading; the fields are those of ModelReading.
struct TimedReading {
  absl::Time at;
  bool continues = true;  // its counters continue those of the previous reading
  std::optional<double> waiting;
  std::optional<double> running;
  std::optional<double> kv_cache_usage_ratio;
  std::optional<double> limit;
  std::optional<double> requests_done;
  std::optional<double> queued_requests;
  std::optional<double> queue_seconds;
  std::shared_ptr<const Histogram> first_token_seconds;   // null: not reported
  std::shared_ptr<const Histogram> output_token_seconds;  // null: not reported
};

// Select a field of a reading.
using NumberField = std::optional<double> TimedReading::*;
using HistogramField = std::shared_ptr<const Histogram> TimedReading::*;

// Returns true if the counters of `newer` continue those of `older`: the process is the same, and
// no counter is lower. If one was reset, all were, even if others are higher again by now.
bool CountersGoOn(const ModelReading& older, const ModelReading& newer);

// Not thread-safe.
class StoredReadings {
 public:
  // `at` must be later than in all calls before.
  void AddReading(absl::Time at, ModelReading reading);

  // Readings before `before`, which no query looks back on, may be deleted.
  void Forget(absl::Time before);
  void ForgetHistograms();

  std::span<const TimedReading> all() const { return readings_; }  // oldest first
  size_t Bytes() const;                                            // approximate memory use

 private:
  std::vector<TimedReading> readings_;
  ModelReading newest_;
  size_t histogram_bytes_ = 0;
};

}  // namespace gpuscaler
