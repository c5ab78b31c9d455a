#include "demand/token_time.h"

#include <algorithm>

namespace gpuscaler {
namespace {

// Smaller differences are chance, and where the line is not quite straight. After a step of the
// load most requests have just begun, with little in the KV cache, and take up to a tenth less.
constexpr double kMoreTime = 0.05;
constexpr double kLessTime = 0.15;

double MeanBatch(const ServiceSums& sums) { return sums.running_tokens / sums.tokens; }

double MeanTime(const ServiceSums& sums) { return sums.running_seconds / sums.tokens; }

double Variance(const ServiceSums& sums) {
  const double mean = MeanBatch(sums);
  return sums.running_squared_tokens / sums.tokens - mean * mean;
}

// Batches that are nearly all alike have no slope: the time at the mean is all that is known.
bool HasSlope(const ServiceSums& sums) {
  const double least_spread = std::max(0.5, 0.02 * MeanBatch(sums));
  return Variance(sums) >= least_spread * least_spread;
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

ServiceSums WithRequestsOf(const ServiceSums& newest, ServiceSums sums) {
  if (!HasTokens(newest) || !HasTokens(sums) || !HasSlope(sums)) return sums;
  const TokenTime time = *TokenTimeOf(sums);
  const double batch = MeanBatch(newest);
  const double ratio = MeanTime(newest) / time.At(batch);
  if (ratio <= 1 + kMoreTime && ratio >= 1 - kLessTime) return sums;
  if (newest.kv_running_seconds > 0) {
    sums.kv_seconds = sums.kv_running_seconds * newest.kv_seconds / newest.kv_running_seconds;
  }
  if (MeanTime(newest) <= time.base) {
    sums.running_seconds *= ratio;
    sums.running_squared_seconds *= ratio;
    return sums;
  }
  const double more = (MeanTime(newest) - time.base) / batch - time.slope;
  sums.running_seconds += more * sums.running_tokens;
  sums.running_squared_seconds += more * sums.running_squared_tokens;
  return sums;
}

}  // namespace gpuscaler
