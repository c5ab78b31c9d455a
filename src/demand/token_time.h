// How long an engine takes for a token, by its batch.
#pragma once

#include <optional>

#include "model/engine_demand.h"

namespace gpuscaler {

// Seconds per token at a batch of n = base + slope * n. A step reads the weights once, which is the
// base; it computes each request's cache and a share of the prompts, so the slope depends on how
// long prompts and answers are.
struct TokenTime {
  double base = 0;
  double slope = 0;

  double At(double batch) const { return base + slope * batch; }
};

// Neither is below 0. Empty: no tokens.
std::optional<TokenTime> TokenTimeOf(const ServiceSums& sums);

// Returns `sums` as if all batches had had the requests of `newest`, if the time per token of those
// is 5 % more or 15 % less: the base stays, and the slope and the KV cache per request become
// theirs. If they took less than the base, base and slope become smaller by one factor.
ServiceSums WithRequestsOf(const ServiceSums& newest, ServiceSums sums);

}  // namespace gpuscaler
