#include "demand/service_track.h"

#include <algorithm>
#include <cmath>

namespace gpuscaler {
namespace {

constexpr double kAveragedSeconds = 10;
constexpr double kKeptSeconds = 300;  // in a class
constexpr absl::Duration kClassKept = absl::Hours(24);

size_t ClassOf(double running, size_t classes) {
  const double half_octaves = 2 * std::log2(running / 2);
  return static_cast<size_t>(std::clamp(half_octaves, 0.0, static_cast<double>(classes - 1)));
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
    const double room = std::max(0.0, kKeptSeconds - open_.seconds);
    if (of.sums.seconds > room) of.sums *= room / of.sums.seconds;
    of.sums += open_;
    of.at = open_at_;
  }
  open_ = {};
  open_running_seconds_ = 0;
}

ServiceSums ServiceTrack::Sums(absl::Time now) const {
  ServiceSums sums;
  for (const BatchClass& of : classes_) {
    if (now - of.at <= kClassKept) sums += of.sums;
  }
  return sums;
}

}  // namespace gpuscaler
