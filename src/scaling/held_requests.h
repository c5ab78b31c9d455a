// Requests that the gateway of a trigger on engines holds (gatewayUrl).
#pragma once

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "model/signal_history.h"
#include "scaling/decision.h"
#include "trigger/trigger.h"

namespace gpuscaler {

struct HeldRequests {
  const SignalSeries* gateway = nullptr;  // null: the trigger names none, or it was never read
  std::optional<double> count;            // newest reading; empty: not known
  std::string why_unreadable;             // empty: it is readable, or there is none
  // When it becomes unreadable if no new reading comes.
  absl::Time changes_at = absl::InfiniteFuture();

  bool Any() const { return count.value_or(0) > 0; }
};

// The newest reading is valid for `stale_after`.
HeldRequests HeldRequestsOf(const DecisionInputs& inputs);

// The threshold is 0 unless the metadata sets one: a profile's threshold is a percentage.
bool KeepsActive(const Trigger& trigger, const HeldRequests& held);

// Returns one line for people, without its end: "gateway: NAME holds 12 requests (10.0.0.1 8,
// ...)". Empty if the trigger names no gateway.
std::string HeldText(const HeldRequests& held);

}  // namespace gpuscaler
