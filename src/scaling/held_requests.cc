#include "scaling/held_requests.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/number_text.h"
#include "scaling/next_change.h"
#include "scaling/queue_decision.h"
#include "trigger/trigger_source.h"

namespace gpuscaler {
namespace {

const SignalPoint* NewestNumber(const SignalSeries& series) {
  const auto newest =
      std::ranges::find_if(series.points.rbegin(), series.points.rend(),
                           [](const SignalPoint& point) { return point.value.has_value(); });
  return newest == series.points.rend() ? nullptr : &*newest;
}

}  // namespace

HeldRequests HeldRequestsOf(const DecisionInputs& inputs) {
  const absl::Time now = inputs.fleet.now;
  const absl::Duration stale_after = inputs.staleness.stale_after;
  HeldRequests held;
  if (!CountsHeldRequests(inputs.trigger)) return held;
  held.why_unreadable = kNotReadYet;
  if (inputs.signals == nullptr || inputs.signals->gateway == nullptr) return held;
  const SignalHistory& history = *inputs.signals->gateway;
  if (!history.status.ok()) {
    held.why_unreadable = std::string(history.status.message());
    return held;
  }
  if (history.series.empty()) return held;
  held.gateway = &history.series.front();
  const std::string& error = held.gateway->error;
  const SignalPoint* const newest = NewestNumber(*held.gateway);
  if (newest == nullptr || now - newest->at > stale_after) {
    if (!error.empty()) held.why_unreadable = error;
    if (error.empty() && newest != nullptr) held.why_unreadable = "no reading within --stale-after";
    return held;
  }
  held.count = *newest->value;
  held.why_unreadable.clear();
  NextChange stale(now);
  stale.MayChangeAt(newest->at + stale_after);
  held.changes_at = stale.until();
  return held;
}

bool KeepsActive(const Trigger& trigger, const HeldRequests& held) {
  const double threshold = trigger.activation_threshold_given ? trigger.activation_threshold : 0;
  return held.count.has_value() && *held.count > threshold;
}

std::string HeldText(const HeldRequests& held) {
  if (held.gateway == nullptr) {
    return held.why_unreadable.empty() ? "" : absl::StrCat("gateway: ", held.why_unreadable);
  }
  const std::string& name = held.gateway->name;
  if (!held.count.has_value()) {
    return absl::StrCat("gateway: ", name, " cannot be read: ", held.why_unreadable);
  }
  const std::string parts = PartsText(*held.gateway);
  return absl::StrCat("gateway: ", name, " holds ", NumberText(*held.count),
                      *held.count == 1 ? " request" : " requests", parts.empty() ? "" : " (", parts,
                      parts.empty() ? "" : ")");
}

}  // namespace gpuscaler
