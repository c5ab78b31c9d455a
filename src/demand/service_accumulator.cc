#include "demand/service_accumulator.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "demand/request_kind.h"
#include "demand/token_time.h"

namespace gpuscaler {
namespace {

constexpr double kAveragedSeconds = 10;
constexpr double kKeptSeconds = 300;  // per class, and for the newest batches
constexpr double kLatestSeconds = 60;
// Fewer seconds of the newest batches are mostly noise.
constexpr double kEnoughSeconds = 60;
constexpr absl::Duration kClassKept = absl::Hours(24);

size_t ClassOf(double running, size_t classes) {
  const double half_octaves = 2 * std::log2(running / 2);
  return static_cast<size_t>(std::clamp(half_octaves, 0.0, static_cast<double>(classes - 1)));
}

}  // namespace

void ServiceAccumulator::Batches::Add(const Batches& newest, double seconds) {
  const double room = std::max(0.0, seconds - newest.sums.seconds);
  if (sums.seconds > room) {
    const double share = room / sums.seconds;
    sums *= share;
    answered.answers *= share;
    answered.answer_tokens *= share;
  }
  sums += newest.sums;
  answered.answers += newest.answered.answers;
  answered.answer_tokens += newest.answered.answer_tokens;
  at = newest.at;
}

bool ServiceAccumulator::Batches::AreOfAllAges() const {
  const double share = sums.tokens > 0 ? answered.answer_tokens / sums.tokens : 0;
  return share > 0.5 && share < 2;
}

bool ServiceAccumulator::Batches::AreSameKindAs(const Batches& other) const {
  const bool can_compare_cache = AreOfAllAges() && other.AreOfAllAges();
  return !DifferInLength(answered, other.answered) &&
         !(can_compare_cache && DifferInCache(sums, other.sums));
}

void ServiceAccumulator::Add(const ServiceStep& step) {
  const double seconds = absl::ToDoubleSeconds(step.took);
  ServiceSums& sums = open_.sums;
  sums.seconds += seconds;
  sums.tokens += step.tokens;
  open_running_seconds_ += step.running * seconds;
  if (step.has_cache) {
    sums.kv_seconds += step.cache_ratio * seconds;
    sums.kv_running_seconds += step.running * seconds;
  }
  sums.largest_batch = std::max(sums.largest_batch, step.most_running);
  open_.answered.answers += step.answers;
  open_.answered.answer_tokens += step.answer_tokens;
  open_.at = step.at;
  open_shows_steps_ = open_shows_steps_ && !step.counts_ended;
  if (sums.seconds >= kAveragedSeconds) Commit();
}

void ServiceAccumulator::Commit() {
  ServiceSums& sums = open_.sums;
  if (sums.seconds >= kAveragedSeconds / 2) {
    const double n = open_running_seconds_ / sums.seconds;
    sums.running_tokens = n * sums.tokens;
    sums.running_squared_tokens = n * n * sums.tokens;
    sums.running_seconds = n * sums.seconds;
    sums.running_squared_seconds = n * n * sums.seconds;
    if (!latest_.AreSameKindAs(open_)) latest_ = {};
    latest_.Add(open_, kLatestSeconds);
    Batches& of = classes_[ClassOf(n, classes_.size())];
    if (!of.AreSameKindAs(latest_)) of = {};
    of.Add(open_, kKeptSeconds);
    if (open_shows_steps_) {
      if (!newest_.AreSameKindAs(latest_)) newest_ = {};
      newest_.Add(open_, kKeptSeconds);
    }
  }
  open_ = {};
  open_running_seconds_ = 0;
  open_shows_steps_ = true;
}

ServiceSums ServiceAccumulator::Sums(absl::Time now) const {
  ServiceSums sums, former;
  double least_time = std::numeric_limits<double>::infinity();
  for (const Batches& of : classes_) {
    if (now - of.at > kClassKept) continue;
    const bool is_former = !of.AreSameKindAs(latest_);
    (is_former ? former : sums) += of.sums;
    if (of.sums.tokens > 0 && !is_former) {
      least_time = std::min(least_time, of.sums.running_seconds / of.sums.tokens);
    }
  }
  if (newest_.sums.seconds >= kEnoughSeconds) {
    sums = AdjustedToNewest(newest_.sums, least_time, sums);
  }
  return WithBatchSizesOf(former, sums);
}

}  // namespace gpuscaler
