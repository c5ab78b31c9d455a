#include "demand/service_track.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "demand/token_time.h"

namespace gpuscaler {
namespace {

constexpr double kAveragedSeconds = 10;
constexpr double kKeptSeconds = 300;  // kept of a class, and of the newest batches
constexpr double kLatestSeconds = 60;
// Fewer seconds of the newest batches are left to chance.
constexpr double kEnoughSeconds = 60;
constexpr absl::Duration kClassKept = absl::Hours(24);

// Requests of one kind differ by less. The cache of a request is smaller while most of them have
// just begun.
constexpr double kOtherAnswer = 1.5, kOtherCache = 2;
constexpr double kCountedAnswers = 30;

size_t ClassOf(double running, size_t classes) {
  const double half_octaves = 2 * std::log2(running / 2);
  return static_cast<size_t>(std::clamp(half_octaves, 0.0, static_cast<double>(classes - 1)));
}

// Returns false if either ratio is not known.
bool Differs(double part, double whole, double other_part, double other_whole, double by) {
  if (part <= 0 || whole <= 0 || other_part <= 0 || other_whole <= 0) return false;
  const double ratio = part * other_whole / (other_part * whole);
  return ratio > by || ratio * by < 1;
}

}  // namespace

void ServiceTrack::Batches::Add(const Batches& newest, double seconds) {
  const double room = std::max(0.0, seconds - newest.sums.seconds);
  if (sums.seconds > room) {
    const double share = room / sums.seconds;
    sums *= share;
    answers *= share;
    answer_tokens *= share;
  }
  sums += newest.sums;
  answers += newest.answers;
  answer_tokens += newest.answer_tokens;
  at = newest.at;
}

bool ServiceTrack::Batches::AreOfKindOf(const Batches& other) const {
  const bool are_enough = answers >= kCountedAnswers && other.answers >= kCountedAnswers;
  return !(are_enough &&
           Differs(answer_tokens, answers, other.answer_tokens, other.answers, kOtherAnswer)) &&
         !Differs(sums.kv_seconds, sums.kv_running_seconds, other.sums.kv_seconds,
                  other.sums.kv_running_seconds, kOtherCache);
}

void ServiceTrack::Add(const ServiceStep& step) {
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
  open_.answers += step.answers;
  open_.answer_tokens += step.answer_tokens;
  open_.at = step.at;
  open_shows_steps_ = open_shows_steps_ && !step.counts_ended;
  if (sums.seconds >= kAveragedSeconds) Commit();
}

void ServiceTrack::Commit() {
  ServiceSums& sums = open_.sums;
  if (sums.seconds >= kAveragedSeconds / 2) {
    const double n = open_running_seconds_ / sums.seconds;
    sums.running_tokens = n * sums.tokens;
    sums.running_squared_tokens = n * n * sums.tokens;
    sums.running_seconds = n * sums.seconds;
    sums.running_squared_seconds = n * n * sums.seconds;
    if (!latest_.AreOfKindOf(open_)) latest_ = {};
    latest_.Add(open_, kLatestSeconds);
    Batches& of = classes_[ClassOf(n, classes_.size())];
    if (!of.AreOfKindOf(latest_)) of = {};
    of.Add(open_, kKeptSeconds);
    if (open_shows_steps_) {
      if (!newest_.AreOfKindOf(latest_)) newest_ = {};
      newest_.Add(open_, kKeptSeconds);
    }
  }
  open_ = {};
  open_running_seconds_ = 0;
  open_shows_steps_ = true;
}

ServiceSums ServiceTrack::Sums(absl::Time now) const {
  ServiceSums sums, former;
  double least_time = std::numeric_limits<double>::infinity();
  for (const Batches& of : classes_) {
    if (now - of.at > kClassKept) continue;
    const bool is_former = !of.AreOfKindOf(latest_);
    (is_former ? former : sums) += of.sums;
    if (of.sums.tokens > 0 && !is_former) {
      least_time = std::min(least_time, of.sums.running_seconds / of.sums.tokens);
    }
  }
  if (newest_.sums.seconds >= kEnoughSeconds) {
    sums = WithRequestsOf(newest_.sums, least_time, sums);
  }
  return WithFormerBatches(former, sums);
}

}  // namespace gpuscaler
