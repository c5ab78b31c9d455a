// The time per token of an engine as a function of its batch.
#pragma once

#include <optional>

#include "model/engine_demand.h"

namespace gpuscaler {

// Seconds per token at a batch of n = base + slope * n. A step reads the weights once, which is the
// base. It also reads each request's cache and computes a share of the prompts, so the slope
// depends on the lengths of prompts and answers.
struct TokenTime {
  double base = 0;
  double slope = 0;

  double At(double batch) const { return base + slope * batch; }
};

// Returns base and slope, neither below 0, or nullopt if there are no tokens.
std::optional<TokenTime> TokenTimeOf(const ServiceSums& sums);

// Returns `sums` with the fitted line (base and slope) turned about its base, so that it passes
// through the mean batch and time per token of `newest`. KV cache per request becomes that of
// `newest`.
// - If the time per token of `newest` is within +3 % and -10 % of the line, `sums` is unchanged. Up
//   to +7 % and -20 % the line turns in proportion, so that noise changes no capacity by much.
// - If the time per token of `newest` is below the base, base and slope shrink by the same factor.
// - The base becomes at least half of `least_time`, the lowest time per token of all classes of
//   batches: a fit over requests of different lengths may have a base of 0.
ServiceSums AdjustedToNewest(const ServiceSums& newest, double least_time, ServiceSums sums);

// Returns `sums` plus the batches of `former`, which had requests of another kind. The sizes of the
// former batches are kept. Their times are those of a line through the mean of `sums` with the base
// of `former`, which is at most half of the time per token. Returns `sums` unchanged if its own
// batches determine a slope. The line is cautious: a replica counts as 55 to 110 % used, so
// replicas are removed in steps, and each step shows a larger batch.
ServiceSums WithBatchSizesOf(const ServiceSums& former, ServiceSums sums);

}  // namespace gpuscaler
