// Random cases for property tests.
#pragma once

#include <functional>
#include <random>

#include "base/test_sanitizer.h"
#include "gtest/gtest.h"

namespace gpuscaler {

class Random {
 public:
  explicit Random(int seed) : engine_(static_cast<unsigned>(seed)) {}
  int Whole(int from, int to) { return std::uniform_int_distribution<int>(from, to)(engine_); }
  double Real(double from, double to) {
    return std::uniform_real_distribution<double>(from, to)(engine_);
  }
  bool ThreeInFour() { return Whole(0, 3) > 0; }
  bool OneIn(int n) { return Whole(1, n) == 1; }

 private:
  std::mt19937 engine_;
};

// Stops at the first seed that fails, and prints it.
inline void ForSeeds(int seeds, const std::function<void(Random&)>& check) {
  for (int seed = 0; seed < seeds; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    check(random);
    if (testing::Test::HasFailure()) return;
  }
}

// Sanitizers find mistakes in memory and threads, for which a fifth of the seeds is enough. Builds
// without check properties with all of them.
constexpr int kPartOfSeeds = kHasSanitizer ? 5 : 1;

inline void ForManySeeds(const std::function<void(Random&)>& check) {
  ForSeeds(300 / kPartOfSeeds, check);
}

}  // namespace gpuscaler
