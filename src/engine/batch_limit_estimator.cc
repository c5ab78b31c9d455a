#include "engine/batch_limit_estimator.h"

#include <algorithm>
#include <cmath>

namespace gpuscaler {

void BatchLimitEstimator::Take(const TimedReading& reading) {
  if (!reading.continues) {
    plateau_.reset();
    limit_.reset();
    learnt_at_ = absl::InfinitePast();
  }
  // An empty optional is below any number.
  const bool waits = reading.waiting > 0.0 && !(reading.kv_cache_usage_ratio >= kFullCacheRatio);
  const double running = reading.running.value_or(0);
  if (!waits || running <= 0) {
    plateau_.reset();
  } else if (!plateau_.has_value() || std::abs(running - plateau_->running) > 1) {
    plateau_ = {.running = running, .most = running, .since = reading.at};
  } else {
    ++plateau_->readings;
    plateau_->most = std::max(plateau_->most, running);
    const bool is_full =
        plateau_->readings >= kFullReadings && reading.at - plateau_->since >= kFullFor;
    if (is_full) {
      limit_ = std::max(limit_.value_or(0), plateau_->most);
      learnt_at_ = reading.at;
    }
  }
  if (limit_.has_value()) limit_ = std::max(*limit_, running);
}

}  // namespace gpuscaler
