// An estimate of what scaling saved: the same workloads with a constant number of GPUs each.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "absl/time/time.h"
#include "cost/money.h"
#include "cost/price_list.h"
#include "cost/usage.h"

namespace gpuscaler {

struct StaticFleet {
  UsageKey workload;     // with its GPU model, without node
  double most_gpus = 0;  // the most that it held at once
  int64_t held_micros = 0;
};

// A calculation, not a measurement.
struct Saving {
  int64_t static_micros = 0;   // each workload's most GPUs, for the whole period
  int64_t held_micros = 0;     // busy, idle and starting
  std::optional<Money> saved;  // empty: a model has no price
};

// `prices` may be null.
Saving SavingOf(std::span<const StaticFleet> fleets, absl::Duration period,
                const PriceList* prices);

}  // namespace gpuscaler
