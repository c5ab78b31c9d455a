#include "engine/full_batch.h"

#include <algorithm>

namespace gpuscaler {

void FullBatch::Take(const TimedReading& reading) {
  if (!reading.goes_on) {
    crowd_.reset();
    limit_.reset();
  }
  const bool waits = reading.waiting > 0.0;  // an empty optional is below any number
  if (!waits || !reading.running.has_value()) {
    crowd_.reset();
  } else if (!crowd_.has_value() || *reading.running > crowd_->running) {
    crowd_ = {.running = *reading.running, .since = reading.at};
  } else {
    ++crowd_->readings;
    const bool is_full =
        crowd_->readings >= kFullReadings && reading.at - crowd_->since >= kFullFor;
    if (is_full) limit_ = std::max(limit_.value_or(0), crowd_->running);
  }
  if (limit_.has_value()) limit_ = std::max(*limit_, reading.running.value_or(0));
}

}  // namespace gpuscaler
