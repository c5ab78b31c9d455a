// The counts behind a Prometheus histogram.
#pragma once

#include <cstdint>
#include <vector>

namespace gpuscaler {

// Not thread-safe.
class BucketCounts {
 public:
  explicit BucketCounts(std::vector<double> bounds);  // ascending, without infinity

  // Return counts with vLLM's bounds for times of requests and for the time between two tokens, in
  // seconds [vllm/v1/metrics/loggers.py].
  static BucketCounts OfRequests();
  static BucketCounts OfTokens();
  // The bounds are vLLM's for the tokens of an answer, at a context of 8,192.
  static BucketCounts OfAnswers();

  void Add(double value, int64_t times = 1);

  const std::vector<double>& bounds() const { return bounds_; }
  // Counts of values up to each bound and above the previous one; the last is above all bounds.
  const std::vector<int64_t>& counts() const { return counts_; }
  double sum() const { return sum_; }
  int64_t count() const { return count_; }

 private:
  std::vector<double> bounds_;
  std::vector<int64_t> counts_;
  double sum_ = 0;
  int64_t count_ = 0;
};

}  // namespace gpuscaler
