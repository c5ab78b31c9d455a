// Random jitter, so that clients and connections that start together do not stay synchronized.
#pragma once

#include <random>

namespace gpuscaler {

// Returns a random number in [from, to), which must not be empty. Thread-safe. The generator is
// std's, because Debian's absl::BitGen is seeded in a library without ThreadSanitizer
// instrumentation.
inline double Jitter(double from, double to) {
  thread_local std::minstd_rand generator(std::random_device{}());
  return std::uniform_real_distribution<double>(from, to)(generator);
}

}  // namespace gpuscaler
