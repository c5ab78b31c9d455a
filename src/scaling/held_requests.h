// The requests that the gateway of a trigger on engines holds (gatewayUrl).
#pragma once

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "model/signal_history.h"
#include "model/staleness_limits.h"
#include "trigger/trigger.h"

namespace gpuscaler {

struct HeldRequests {
  const SignalSeries* gateway = nullptr;  // null: the trigger names none, or it was never read
  std::optional<double> count;            // newest reading; empty: not known
  std::string why_unreadable;             // empty: it is readable, or the trigger names none
  // When time alone makes it unreadable.
  absl::Time changes_at = absl::InfiniteFuture();

  bool Any() const { return count.value_or(0) > 0; }
};

// `signals` null: no source is read. A reading counts for `stale_after`.
HeldRequests HeldRequestsOf(const Trigger& trigger, const SignalHistory* signals, absl::Time now,
                            const StalenessLimits& staleness);

// Whether they keep the trigger active. The threshold is 0 unless the metadata gives one: that of a
// profile is a percentage.
bool KeepsActive(const Trigger& trigger, const HeldRequests& held);

// One line for people, without its end: "gateway: NAME holds 12 requests (10.0.0.1 8, 10.0.0.2 4)".
// Empty: the trigger names none.
std::string HeldText(const HeldRequests& held);

}  // namespace gpuscaler
