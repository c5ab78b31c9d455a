// How long a lease lasts, whoever gives it (DESIGN 3).
#pragma once

#include "absl/time/time.h"

namespace gpuscaler {

// Three polls of KEDA's default pollingInterval of 30 s: one that comes late, or is lost, ends
// none.
inline constexpr absl::Duration kShortestLease = absl::Seconds(90);

// Three polls of a pollingInterval of one hour, the longest in use. A lease follows the gaps
// between questions, and after an outage of KEDA the gap is the outage's: what nobody asks for any
// more is read for so long at most. Agents give no longer one either, whatever an aggregator wants.
inline constexpr absl::Duration kLongestLease = absl::Hours(3);

}  // namespace gpuscaler
