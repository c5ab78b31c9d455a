#include "scaling/activity.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/duration_text.h"
#include "base/number_text.h"

namespace gpuscaler {

using State = ReplicaShare::State;

namespace {

absl::Duration CoveredTime(const std::vector<ReplicaLoad>& loads, absl::Time now) {
  return now - std::ranges::max(loads, {}, &ReplicaLoad::covered_since).covered_since;
}

}  // namespace

Activity ActivityOf(const Trigger& trigger, const std::vector<ReplicaLoad>& loads, absl::Time now) {
  const std::string window = DurationText(trigger.activation_window);
  if (trigger.always_active) return {true, "scaleIn is hold: never at zero"};
  for (const ReplicaLoad& load : loads) {
    if (!load.above_threshold) continue;
    return {true, absl::StrCat(load.share.name, " was at ", NumberText(load.share.peak), " within ",
                               window, ", above activationThreshold ",
                               NumberText(trigger.activation_threshold))};
  }
  for (const ReplicaLoad& load : loads) {
    if (load.share.state == State::kUnreadable) {
      return {true, absl::StrCat(load.share.name, " is there but cannot be read")};
    }
    if (load.share.state == State::kWarming && load.starts) {
      return {true, absl::StrCat(load.share.name, " is warming up")};
    }
  }
  if (loads.empty()) return {false, "no replica within activationWindow"};
  const absl::Duration covered = CoveredTime(loads, now);
  if (covered < trigger.activation_window) {
    return {true,
            absl::StrCat("samples cover only ", AgeText(covered), " of activationWindow ", window)};
  }
  for (const ReplicaLoad& load : loads) {
    if (!load.covered && load.share.state != State::kWarming)
      return {true, absl::StrCat(load.share.name, " has gaps within ", window)};
  }
  return {false, absl::StrCat("no replica was above activationThreshold ",
                              NumberText(trigger.activation_threshold), " within ", window)};
}

}  // namespace gpuscaler
