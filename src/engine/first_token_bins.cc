#include "engine/first_token_bins.h"

#include <algorithm>
#include <cmath>

#include "engine/batch_limit_estimator.h"

namespace gpuscaler {
namespace {

// Two minutes before each instant of the last ten minutes.
constexpr absl::Duration kMarksKept = absl::Minutes(12);

bool IsCongested(const TimedReading& reading) {
  // An empty optional is below any number.
  return reading.waiting > 0.0 || reading.kv_cache_usage_ratio >= kFullCacheRatio;
}

double NotAbove(const Histogram& histogram, double bound) {
  double lower = 0;
  double below = 0;
  for (const Histogram::Bucket& bucket : histogram.buckets) {
    if (bound < bucket.not_above) {
      if (std::isinf(bucket.not_above)) return bucket.count;
      const double share = (bound - lower) / (bucket.not_above - lower);
      return below + std::clamp(share, 0.0, 1.0) * (bucket.count - below);
    }
    lower = bucket.not_above;
    below = bucket.count;
  }
  return below;
}

}  // namespace

void FirstTokenBins::Take(const TimedReading& reading) {
  if (reading.first_token_seconds == nullptr) return;
  Mark mark{.at = reading.at,
            .waiting = reading.waiting.value_or(0),
            .counted = reading.first_token_seconds};
  if (newest_.has_value()) {
    mark.process = newest_->process + (reading.continues ? 0 : 1);
    mark.congested = newest_->congested;
    if (IsCongested(reading)) mark.congested += reading.at - newest_->at;
    // The histogram of an idle engine does not change: one copy is enough.
    if (*newest_->counted == *mark.counted) mark.counted = newest_->counted;
  }
  if (marks_.empty() || BeginOfBin(marks_.back().at) < BeginOfBin(mark.at)) marks_.push_back(mark);
  newest_ = std::move(mark);
  while (marks_.front().at < reading.at - kMarksKept) marks_.pop_front();
}

void FirstTokenBins::Forget() {
  marks_.clear();
  newest_.reset();
}

FirstTokenBin FirstTokenBins::BinOf(const Mark& older, const Mark& newer, absl::Duration slo) {
  FirstTokenBin bin{.begin = BeginOfBin(older.at),
                    .congested = newer.congested - older.congested,
                    .waiting = newer.waiting};
  if (older.process != newer.process) return bin;
  const bool are_first = IsUnobserved(*older.counted);
  if (!are_first && !HaveSameBounds(*older.counted, *newer.counted)) return bin;
  const double bound = absl::ToDoubleSeconds(slo);
  bin.first_tokens = newer.counted->Count() - (are_first ? 0 : older.counted->Count());
  const double in_time =
      NotAbove(*newer.counted, bound) - (are_first ? 0 : NotAbove(*older.counted, bound));
  bin.late = std::max(0.0, bin.first_tokens - in_time);
  return bin;
}

std::vector<FirstTokenBin> FirstTokenBins::Bins(absl::Duration slo) const {
  std::vector<FirstTokenBin> bins;
  for (size_t i = 1; i < marks_.size(); ++i) bins.push_back(BinOf(marks_[i - 1], marks_[i], slo));
  if (newest_.has_value() && newest_->at > marks_.back().at) {
    bins.push_back(BinOf(marks_.back(), *newest_, slo));
  }
  return bins;
}

size_t FirstTokenBins::Bytes() const {
  size_t bytes = marks_.size() * sizeof(Mark);
  const Histogram* before = nullptr;
  for (const Mark& mark : marks_) {
    if (mark.counted.get() == before) continue;
    before = mark.counted.get();
    bytes += sizeof(Histogram) + before->buckets.capacity() * sizeof(Histogram::Bucket);
  }
  return bytes;
}

}  // namespace gpuscaler
