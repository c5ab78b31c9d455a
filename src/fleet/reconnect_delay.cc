#include "fleet/reconnect_delay.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace gpuscaler {
namespace {

double Random() {
  thread_local std::minstd_rand generator(std::random_device{}());
  return std::uniform_real_distribution<double>(0, 1)(generator);
}

}  // namespace

absl::Duration ReconnectDelay(int failures, double random) {
  constexpr double kLongestSeconds = 10;
  constexpr double kMostJitter = 0.5;  // at the longest too, or all come at once
  const double seconds = std::exp2(std::clamp(failures, 1, 10) - 1);
  return absl::Seconds(std::min(seconds, kLongestSeconds / (1 + kMostJitter)) *
                       (1 + kMostJitter * random));
}

absl::Duration ReconnectDelay(int failures) { return ReconnectDelay(failures, Random()); }

}  // namespace gpuscaler
