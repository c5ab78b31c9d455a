#include "engine/token_time.h"

#include <algorithm>

namespace gpuscaler {
namespace {

// Smaller differences are noise, or come from a line that is not quite straight. After a load step
// most requests have just begun, with little in the KV cache, and take up to a tenth less.
constexpr double kSomeMore = 0.03, kMuchMore = 0.07;
constexpr double kSomeLess = 0.10, kMuchLess = 0.20;
// Bounds of the base as a share of the time per token. Minimum, of the fastest class of batches: a
// small batch mostly waits for the weights. Maximum, so that the slope stays positive.
constexpr double kMinBaseOfFastest = 0.5, kMaxBaseOfMean = 0.5;
// Minimum for requests to be fitted alone: standard deviation of the batch over its mean, and
// seconds.
constexpr double kOwnSpread = 0.25, kOwnSeconds = 120;

// Returns the weight of the difference, from 0 (ignored) to 1.
double Weight(double ratio) {
  const double weight = ratio > 1 ? (ratio - 1 - kSomeMore) / (kMuchMore - kSomeMore)
                                  : (1 - ratio - kSomeLess) / (kMuchLess - kSomeLess);
  return std::clamp(weight, 0.0, 1.0);
}

// Returns the line from the base of `time` to a batch that takes `seconds` per token.
TokenTime Through(double batch, double seconds, double least_base, const TokenTime& time) {
  const double base = std::max(time.base, std::min(least_base, kMaxBaseOfMean * seconds));
  if (seconds > base) return {.base = base, .slope = (seconds - base) / batch};
  const double factor = seconds / time.At(batch);
  return {.base = factor * time.base, .slope = factor * time.slope};
}

double MeanBatch(const ServiceSums& sums) { return sums.running_tokens / sums.tokens; }

double MeanTime(const ServiceSums& sums) { return sums.running_seconds / sums.tokens; }

double Variance(const ServiceSums& sums) {
  const double mean = MeanBatch(sums);
  return sums.running_squared_tokens / sums.tokens - mean * mean;
}

// Batches of nearly equal size determine no slope, only the time at their mean.
bool HasSlope(const ServiceSums& sums) {
  const double least_spread = std::max(0.5, 0.02 * MeanBatch(sums));
  return Variance(sums) >= least_spread * least_spread;
}

bool HasOwnSlope(const ServiceSums& sums) {
  const double spread = kOwnSpread * MeanBatch(sums);
  return sums.seconds >= kOwnSeconds && Variance(sums) >= spread * spread;
}

bool HasTokens(const ServiceSums& sums) { return sums.tokens > 0 && sums.running_seconds > 0; }

}  // namespace

std::optional<TokenTime> TokenTimeOf(const ServiceSums& sums) {
  if (!HasTokens(sums)) return std::nullopt;
  const double mean = MeanBatch(sums);
  const double mean_time = MeanTime(sums);
  if (!HasSlope(sums)) return TokenTime{.base = mean_time, .slope = 0};
  const double covariance = sums.running_squared_seconds / sums.tokens - mean * mean_time;
  const double slope = std::max(0.0, covariance / Variance(sums));
  const double base = mean_time - slope * mean;
  if (base >= 0) return TokenTime{.base = base, .slope = slope};
  return TokenTime{.base = 0, .slope = sums.running_squared_seconds / sums.running_squared_tokens};
}

ServiceSums AdjustedToNewest(const ServiceSums& newest, double least_time, ServiceSums sums) {
  if (!HasTokens(newest) || !HasTokens(sums) || !HasSlope(sums)) return sums;
  const TokenTime time = *TokenTimeOf(sums);
  const double batch = MeanBatch(newest), seconds = MeanTime(newest);
  const double weight = Weight(seconds / time.At(batch));
  if (weight == 0) return sums;
  const TokenTime theirs = Through(batch, seconds, kMinBaseOfFastest * least_time, time);
  const double base = time.base + weight * (theirs.base - time.base);
  const double slope = time.slope + weight * (theirs.slope - time.slope);
  sums.running_seconds = base * sums.tokens + slope * sums.running_tokens;
  sums.running_squared_seconds = base * sums.running_tokens + slope * sums.running_squared_tokens;
  if (newest.kv_running_seconds > 0) {
    const double kv = sums.kv_running_seconds * newest.kv_seconds / newest.kv_running_seconds;
    sums.kv_seconds += weight * (kv - sums.kv_seconds);
  }
  return sums;
}

ServiceSums WithBatchSizesOf(const ServiceSums& former, ServiceSums sums) {
  if (!HasTokens(former) || !HasTokens(sums) || HasOwnSlope(sums)) return sums;
  const double batch = MeanBatch(sums), seconds = MeanTime(sums);
  const double base = std::min(TokenTimeOf(former)->base, kMaxBaseOfMean * seconds);
  const double slope = (seconds - base) / batch;
  sums.seconds += former.seconds;
  sums.tokens += former.tokens;
  sums.running_tokens += former.running_tokens;
  sums.running_squared_tokens += former.running_squared_tokens;
  sums.running_seconds += base * former.tokens + slope * former.running_tokens;
  sums.running_squared_seconds +=
      base * former.running_tokens + slope * former.running_squared_tokens;
  return sums;
}

}  // namespace gpuscaler
