#include "simulate/bucket_counts.h"

#include <algorithm>
#include <utility>

namespace gpuscaler {

BucketCounts::BucketCounts(std::vector<double> bounds)
    : bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {}

BucketCounts BucketCounts::OfRequests() {
  return BucketCounts({0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1,  0.25,  0.5,   0.75,
                       1,     2.5,   5,    7.5,  10,   20,   40,   80.0, 160.0, 640.0, 2560.0});
}

BucketCounts BucketCounts::OfTokens() {
  return BucketCounts({0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0,
                       7.5, 10.0, 20.0, 40.0, 80.0});
}

BucketCounts BucketCounts::OfAnswers() {
  return BucketCounts({1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000});
}

void BucketCounts::Add(double value, int64_t times) {
  const auto bound = std::ranges::lower_bound(bounds_, value);
  counts_[static_cast<size_t>(bound - bounds_.begin())] += times;
  sum_ += value * static_cast<double>(times);
  count_ += times;
}

}  // namespace gpuscaler
