#include "simulate/latency_counts.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace gpuscaler {
namespace {

// A histogram like HdrHistogram. Microseconds below 2^8 have a bucket each; above, each power of
// two has 2^7.
constexpr int kMantissaBits = 7;
constexpr int kLongestBits = 40;
constexpr uint64_t kLongestMicroseconds = (uint64_t{1} << kLongestBits) - 1;

size_t BucketOf(uint64_t microseconds) {
  const auto bits = static_cast<int>(std::bit_width(microseconds));
  const int shift = std::max(bits - (kMantissaBits + 1), 0);
  return (static_cast<size_t>(shift) << kMantissaBits) + (microseconds >> shift);
}

uint64_t TopOf(size_t bucket) {
  constexpr size_t kOfAPower = size_t{1} << kMantissaBits;
  if (bucket < 2 * kOfAPower) return bucket;
  const size_t shift = bucket / kOfAPower - 1;
  return ((bucket % kOfAPower + kOfAPower + 1) << shift) - 1;
}

}  // namespace

LatencyCounts::LatencyCounts() : counts_(BucketOf(kLongestMicroseconds) + 1) {}

void LatencyCounts::Add(absl::Duration latency) {
  const int64_t microseconds =
      std::max<int64_t>(absl::ToInt64Microseconds(absl::Ceil(latency, absl::Microseconds(1))), 0);
  ++counts_[BucketOf(std::min(static_cast<uint64_t>(microseconds), kLongestMicroseconds))];
  ++count_;
  sum_ += latency;
  max_ = std::max(max_, latency);
}

absl::Duration LatencyCounts::mean() const {
  return count_ == 0 ? absl::ZeroDuration() : sum_ / count_;
}

absl::Duration LatencyCounts::Percentile(double share) const {
  const auto rank = static_cast<int64_t>(std::ceil(share * static_cast<double>(count_)));
  int64_t seen = 0;
  for (size_t bucket = 0; bucket < counts_.size() && count_ > 0; ++bucket) {
    seen += counts_[bucket];
    if (seen >= std::max<int64_t>(rank, 1)) {
      return std::min(absl::Microseconds(TopOf(bucket)), max_);
    }
  }
  return max_;
}

}  // namespace gpuscaler
