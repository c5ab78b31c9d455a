#include "engine/service_accumulator.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/request_kind.h"
#include "engine/token_time.h"

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

bool ShowAnswers(const ServiceReading& older, const ServiceReading& newer) {
  return newer.answers.has_value() && older.answers.has_value() &&
         newer.answer_tokens.has_value() && older.answer_tokens.has_value();
}

void ServiceAccumulator::Batches::Add(const Batches& newest, double seconds) {
  const double room = std::max(0.0, seconds - newest.sums.seconds);
  if (sums.seconds > room) {
    const double share = room / sums.seconds;
    sums *= share;
    answered.answers *= share;
    answered.answer_tokens *= share;
  }
  sums += newest.sums;
  answered.AddAnswers(newest.answered);
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

void ServiceAccumulator::Add(const ServiceReading& older, const ServiceReading& newer) {
  const double seconds = absl::ToDoubleSeconds(newer.at - older.at);
  const double running = (*older.running + *newer.running) / 2;
  const std::optional<double>& older_cache = older.kv_cache_usage_ratio;
  const std::optional<double>& newer_cache = newer.kv_cache_usage_ratio;
  ServiceSums& sums = open_.sums;
  sums.seconds += seconds;
  sums.tokens += *newer.generation_tokens - *older.generation_tokens;
  open_running_seconds_ += running * seconds;
  if (older_cache.has_value() && newer_cache.has_value()) {
    sums.kv_seconds += (*older_cache + *newer_cache) / 2 * seconds;
    sums.kv_running_seconds += running * seconds;
  }
  sums.largest_batch = std::max({sums.largest_batch, *older.running, *newer.running});
  if (ShowAnswers(older, newer)) {
    open_.answered.answers += *newer.answers - *older.answers;
    open_.answered.answer_tokens += *newer.answer_tokens - *older.answer_tokens;
  }
  open_.at = newer.at;
  open_shows_steps_ = open_shows_steps_ && newer.generation_tokens != newer.answer_tokens;
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
