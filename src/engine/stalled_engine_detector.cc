#include "engine/stalled_engine_detector.h"

#include <utility>

namespace gpuscaler {
namespace {

bool HasRequests(const ModelReading& reading) {
  return reading.waiting > 0.0 || reading.running > 0.0;  // an empty optional is below any number
}

// At least one of these counters moves with every served request.
bool ReportsProgress(const ModelReading& reading) {
  return reading.prompt_tokens.has_value() || reading.generation_tokens.has_value() ||
         reading.requests_done.has_value();
}

// The fields that change when requests are served. Histograms are large, and their counts are among
// the counters.
ModelReading NumbersOf(const ModelReading& reading) {
  ModelReading numbers{.waiting = reading.waiting,
                       .running = reading.running,
                       .counters_began = reading.counters_began};
  for (const ModelNumber counter : kModelCounters) numbers.*counter = reading.*counter;
  return numbers;
}

}  // namespace

void StalledEngineDetector::Take(absl::Time at, const ModelReading& reading) {
  ModelReading numbers = NumbersOf(reading);
  if (!HasRequests(reading) || !ReportsProgress(reading)) {
    since_.reset();
  } else if (!since_.has_value() || numbers != last_) {
    since_ = at;
  }
  last_ = std::move(numbers);
}

}  // namespace gpuscaler
