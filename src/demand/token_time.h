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
// is some percent off: the base stays, and the slope and the KV cache per request become theirs.
// Between 3 and 7 % more, and between 10 and 20 % less, in part, so that noise moves no capacity by
// much. If they took less than the base, base and slope become smaller by one factor. `least_time`
// is the least seconds per token of any class of batches: half of it is the least base, because a
// fit over requests of different lengths may have none.
ServiceSums WithRequestsOf(const ServiceSums& newest, double least_time, ServiceSums sums);

// Returns `sums` with the batches of requests of another kind, as if those had had the requests of
// `sums`, unless the latter show a slope of their own. The base is the former one, and half of the
// time per token at most: a replica then seems to be at 55 to 110 % of its capacity, so that
// replicas are taken away in steps, each of which shows a fuller batch.
ServiceSums WithFormerBatches(const ServiceSums& former, ServiceSums sums);

}  // namespace gpuscaler
