// Chance, by which clients and connections that begin together do not act together for ever.
#pragma once

#include <random>

namespace gpuscaler {

// A number from [from, to), which must not be empty. From any thread. std's generator: Debian's
// absl::BitGen is seeded inside a library that ThreadSanitizer cannot see into.
inline double Jitter(double from, double to) {
  thread_local std::minstd_rand generator(std::random_device{}());
  return std::uniform_real_distribution<double>(from, to)(generator);
}

}  // namespace gpuscaler
