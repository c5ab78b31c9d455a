#include "model/steady_memory.h"

#include <algorithm>

namespace gpuscaler {
namespace {

constexpr double kPreallocatedAbovePercent = 50;
constexpr double kSteadyWithinPoints = 1;

}  // namespace

absl::Duration SteadyRun::After(absl::Time at) const {
  return until > at ? until - std::max(from, at) : absl::ZeroDuration();
}

void SteadyMemory::Add(absl::Time at, double used_percent) {
  if (used_percent <= kPreallocatedAbovePercent) {
    *this = SteadyMemory();
    return;
  }
  if (high_since_ == absl::InfinitePast()) high_since_ = at;
  lowest_percent_ = std::min(lowest_percent_, used_percent);
  highest_percent_ = std::max(highest_percent_, used_percent);
  const bool begins = current_.from == absl::InfinitePast() ||
                      highest_percent_ - lowest_percent_ >= kSteadyWithinPoints;
  if (begins) {
    if (current_.from != absl::InfinitePast()) past_.push_back(current_);
    current_.from = at;
    lowest_percent_ = highest_percent_ = used_percent;
  }
  ExtendTo(at);
}

void SteadyMemory::ExtendTo(absl::Time until) {
  if (current_.from == absl::InfinitePast()) return;
  current_.until = std::max(current_.until, until);
  while (!past_.empty() && past_.back().Length() <= current_.Length()) past_.pop_back();
}

bool SteadyMemory::IsTooNew(absl::Duration window, absl::Time warm_at) const {
  if (high_since_ == absl::InfinitePast()) return false;
  return current_.until - std::max(high_since_, warm_at) < window;
}

absl::Time SteadyMemory::SteadyAt(absl::Duration window, absl::Time warm_at) const {
  if (current_.from == absl::InfinitePast()) return absl::InfiniteFuture();
  for (const SteadyRun& run : past_) {
    if (run.After(warm_at) >= window) return std::max(run.from, warm_at) + window;
  }
  return current_.After(warm_at) >= window ? std::max(current_.from, warm_at) + window
                                           : absl::InfiniteFuture();
}

bool SteadyMemory::WasSteadyFor(absl::Duration window, absl::Time warm_at) const {
  return SteadyAt(window, warm_at) != absl::InfiniteFuture();
}

}  // namespace gpuscaler
