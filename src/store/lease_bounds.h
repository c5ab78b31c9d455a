// The bounds of leases, in all roles.
#pragma once

#include "absl/time/time.h"

namespace gpuscaler {

// Three times KEDA's default pollingInterval of 30 s, so that a late or lost poll ends no lease.
inline constexpr absl::Duration kShortestLease = absl::Seconds(90);

// Three times a pollingInterval of one hour, the longest in use. The length of a lease follows the
// gaps between requests, and an outage of KEDA is such a gap. This limits how long a source is read
// that no trigger needs any more. Agents cap the leases of aggregators at it too.
inline constexpr absl::Duration kLongestLease = absl::Hours(3);

// Look-backs are rounded up to this: tenants may choose any number of different windows.
inline constexpr absl::Duration kLookBackStep = absl::Minutes(1);

}  // namespace gpuscaler
