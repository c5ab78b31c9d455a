#include "base/jitter.h"

#include <set>

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

TEST(JitterTest, NumbersAreInTheRangeAndDiffer) {
  std::set<double> factors;
  for (int i = 0; i < 100; ++i) factors.insert(Jitter(0.9, 1.1));
  EXPECT_GT(factors.size(), 50u);
  EXPECT_GE(*factors.begin(), 0.9);
  EXPECT_LT(*factors.rbegin(), 1.1);
}

}  // namespace
}  // namespace gpuscaler
