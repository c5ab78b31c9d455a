// The replicas that the time to the first token asks for: where demand and pressure miss that
// requests wait too long, one replica more than there are.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "absl/time/time.h"
#include "demand/demand.h"

namespace gpuscaler {

struct LatencyAsk {
  double replicas = 0;
  double late_share = 0;  // late first tokens, in the minute before the newest ask
  absl::Duration age;     // since the newest ask

  friend bool operator==(const LatencyAsk&, const LatencyAsk&) = default;
};

// At each end of a `kDemandBin` of the 10 minutes before `now` one replica more than the engines of
// that time is asked for if, in the minute before,
//   - more than 5 % of at least 20 first tokens were late (EngineDemand::first_tokens),
//   - an engine was congested for half of it,
//   - all engines were there, and
//   - the requests that wait did not fall by a tenth: a queue that shrinks needs no replica more.
// The largest of these asks counts, at most three steps above the engines at the first one, since
// replicas that do not help are not added for ever. A step is one replica, or 10 % where that is
// more: the HPA ignores less. Empty: none. `now`: no reading is later.
std::optional<LatencyAsk> LatencyAskOf(std::span<const DemandEngine> engines, absl::Time now);

// One line for people, without its end: "latency: 5 replicas: 12 % of ...".
std::string LatencyText(const LatencyAsk& ask);

}  // namespace gpuscaler
