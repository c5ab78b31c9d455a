#include "load/arrivals.h"

#include <cmath>
#include <utility>

namespace gpuscaler {
namespace {

// The rate is taken to stand for so long: changes are off by half of it at most.
constexpr absl::Duration kTick = absl::Milliseconds(1);

}  // namespace

// Evenly spaced ones begin with half a gap: the rate times the duration is then their number.
Arrivals::Arrivals(RateCurve curve, absl::Duration duration, Spacing spacing, uint64_t seed)
    : curve_(std::move(curve)),
      ticks_(duration / kTick),
      spacing_(spacing),
      random_(seed),
      gap_(spacing == Spacing::kEven ? 0.5 : NextGap()) {}

// Of a Poisson process the gaps, in mean gaps, are distributed exponentially. By hand: what
// std::exponential_distribution makes of a seed differs between libraries.
double Arrivals::NextGap() {
  if (spacing_ == Spacing::kEven) return 1;
  const double uniform = static_cast<double>(random_() >> 11) * 0x1p-53;  // [0, 1)
  return -std::log1p(-uniform);
}

absl::Duration Arrivals::duration() const { return ticks_ * kTick; }

std::optional<absl::Duration> Arrivals::Next() {
  const double tick_seconds = absl::ToDoubleSeconds(kTick);
  for (; tick_ < ticks_; ++tick_, used_ = 0) {
    const double all = curve_.RateAt(tick_ * kTick + kTick / 2) * tick_seconds;
    if (gap_ > all - used_) {
      gap_ -= all - used_;
      continue;
    }
    used_ += gap_;
    gap_ = NextGap();
    return tick_ * kTick + kTick * (used_ / all);
  }
  return std::nullopt;
}

}  // namespace gpuscaler
