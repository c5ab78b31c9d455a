// The replicas that the time to the first token requires: one more than present if requests wait
// too long although demand and pressure are met.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "absl/time/time.h"
#include "engine/demand.h"

namespace gpuscaler {

struct LatencyDemand {
  double replicas = 0;
  double late_share = 0;  // share of late first tokens in the newest such minute
  absl::Duration age;     // since the end of that minute

  friend bool operator==(const LatencyDemand&, const LatencyDemand&) = default;
};

// Checks each end of a `kDemandBin` of the 10 minutes before `now`. One replica more than the
// engines present then is required if, in the minute before,
//   - more than 5 % of at least 20 first tokens were late (EngineDemand::first_tokens),
//   - an engine was congested for half of it,
//   - all engines were present, and
//   - waiting requests did not fall by a tenth: a shrinking queue needs no further replica.
// Returns the largest of these numbers, at most three steps above the engines at the first one,
// because replicas that do not help must not be added forever. A step is one replica or 10 %,
// whichever is more: the HPA ignores less. Returns nullopt if no further replica was required. No
// reading may be later than `now`.
std::optional<LatencyDemand> LatencyDemandOf(std::span<const EngineDemandInput> engines,
                                             absl::Time now);

// Returns one line for users, without a newline: "latency: 5 replicas: 12 % of ...".
std::string LatencyText(const LatencyDemand& ask);

}  // namespace gpuscaler
