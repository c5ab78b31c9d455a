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
  if (high_since == absl::InfinitePast()) high_since = at;
  lowest_percent = std::min(lowest_percent, used_percent);
  highest_percent = std::max(highest_percent, used_percent);
  const bool begins = current.from == absl::InfinitePast() ||
                      highest_percent - lowest_percent >= kSteadyWithinPoints;
  if (begins) {
    if (current.from != absl::InfinitePast()) past.push_back(current);
    current.from = at;
    lowest_percent = highest_percent = used_percent;
  }
  ExtendTo(at);
}

void SteadyMemory::ExtendTo(absl::Time until) {
  if (current.from == absl::InfinitePast()) return;
  current.until = std::max(current.until, until);
  while (!past.empty() && past.back().Length() <= current.Length()) past.pop_back();
}

bool SteadyMemory::IsTooNew(absl::Duration window, absl::Time started_at) const {
  if (high_since == absl::InfinitePast()) return false;
  return current.until - std::max(high_since, started_at) < window;
}

absl::Time SteadyMemory::SteadyAt(absl::Duration window, absl::Time started_at) const {
  if (current.from == absl::InfinitePast()) return absl::InfiniteFuture();
  for (const SteadyRun& run : past) {
    if (run.After(started_at) >= window) return std::max(run.from, started_at) + window;
  }
  return current.After(started_at) >= window ? std::max(current.from, started_at) + window
                                             : absl::InfiniteFuture();
}

bool SteadyMemory::WasSteadyFor(absl::Duration window, absl::Time started_at) const {
  return SteadyAt(window, started_at) != absl::InfiniteFuture();
}

}  // namespace gpuscaler
