#include "simulate/arrivals.h"

#include <cmath>
#include <utility>

namespace gpuscaler {
namespace {

// The rate is constant within a tick, so changes are off by half of it at most.
constexpr absl::Duration kTick = absl::Milliseconds(1);

}  // namespace

double UniformRandom(std::mt19937_64& random) {
  return static_cast<double>(random() >> 11) * 0x1p-53;
}

// With even spacing the first gap is half, so that the number of arrivals is rate times duration.
Arrivals::Arrivals(RateCurve curve, absl::Duration duration, Spacing spacing, uint64_t seed)
    : curve_(std::move(curve)),
      ticks_(duration / kTick),
      spacing_(spacing),
      random_(seed),
      gap_(spacing == Spacing::kEven ? 0.5 : NextGap()) {}

// The gaps of a Poisson process, in units of the mean gap, are exponentially distributed.
double Arrivals::NextGap() {
  return spacing_ == Spacing::kEven ? 1 : -std::log1p(-UniformRandom(random_));
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
