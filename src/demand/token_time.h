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

// Returns `sums` as if all batches had had the requests of `newest`, if their time per token is
// some percent off. The base stays, and slope and KV cache per request become those of `newest`.
// Differences of 3 to 7 % more, and of 10 to 20 % less, count in part, so that noise changes no
// capacity by much. If `newest` took less than the base, base and slope shrink by one factor.
// `least_time` is the least seconds per token of any class of batches. Half of it is the minimum
// base, because a fit over requests of different lengths may have none.
ServiceSums WithRequestsOf(const ServiceSums& newest, double least_time, ServiceSums sums);

// Returns `sums` with the batches of requests of another kind, as if those had had the requests of
// `sums`. Returns `sums` unchanged if they determine a slope themselves. The base is that of
// `former`, and at most half of the time per token: a replica then seems to be at 55 to 110 % of
// its capacity, so replicas are removed in steps, each of which shows a fuller batch.
ServiceSums WithFormerBatches(const ServiceSums& former, ServiceSums sums);

}  // namespace gpuscaler
