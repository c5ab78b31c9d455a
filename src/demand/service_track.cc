#include "demand/service_track.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "demand/token_time.h"

namespace gpuscaler {
namespace {

constexpr double kAveragedSeconds = 10;
constexpr double kKeptSeconds = 300;  // kept of a class, and of the newest batches
// Fewer seconds of the newest batches are left to chance.
constexpr double kEnoughSeconds = 60;
constexpr absl::Duration kClassKept = absl::Hours(24);

size_t ClassOf(double running, size_t classes) {
  const double half_octaves = 2 * std::log2(running / 2);
  return static_cast<size_t>(std::clamp(half_octaves, 0.0, static_cast<double>(classes - 1)));
}

// The older ones fade.
void AddTo(ServiceSums& sums, const ServiceSums& newest) {
  const double room = std::max(0.0, kKeptSeconds - newest.seconds);
  if (sums.seconds > room) sums *= room / sums.seconds;
  sums += newest;
}

}  // namespace

void ServiceTrack::Add(const ServiceStep& step) {
  const double seconds = absl::ToDoubleSeconds(step.took);
  open_.seconds += seconds;
  open_.tokens += step.tokens;
  open_running_seconds_ += step.running * seconds;
  if (step.has_cache) {
    open_.kv_seconds += step.cache_ratio * seconds;
    open_.kv_running_seconds += step.running * seconds;
  }
  open_shows_steps_ = open_shows_steps_ && !step.counts_ended;
  open_.largest_batch = std::max(open_.largest_batch, step.most_running);
  open_at_ = step.at;
  if (open_.seconds >= kAveragedSeconds) Commit();
}

void ServiceTrack::Commit() {
  if (open_.seconds >= kAveragedSeconds / 2) {
    const double n = open_running_seconds_ / open_.seconds;
    open_.running_tokens = n * open_.tokens;
    open_.running_squared_tokens = n * n * open_.tokens;
    open_.running_seconds = n * open_.seconds;
    open_.running_squared_seconds = n * n * open_.seconds;
    BatchClass& of = classes_[ClassOf(n, classes_.size())];
    AddTo(of.sums, open_);
    if (open_shows_steps_) AddTo(newest_, open_);
    of.at = open_at_;
  }
  open_ = {};
  open_running_seconds_ = 0;
  open_shows_steps_ = true;
}

ServiceSums ServiceTrack::Sums(absl::Time now) const {
  ServiceSums sums;
  double least_time = std::numeric_limits<double>::infinity();
  for (const BatchClass& of : classes_) {
    if (now - of.at > kClassKept) continue;
    sums += of.sums;
    if (of.sums.tokens > 0) {
      least_time = std::min(least_time, of.sums.running_seconds / of.sums.tokens);
    }
  }
  if (newest_.seconds < kEnoughSeconds) return sums;
  return WithRequestsOf(newest_, least_time, sums);
}

}  // namespace gpuscaler
