#include "scaling/activity.h"

#include "absl/strings/str_cat.h"
#include "base/duration_text.h"
#include "base/number_text.h"

namespace gpuscaler {

using State = ReplicaShare::State;

absl::Duration CoveredTime(const NodeHistory& history, absl::Duration stale_after) {
  absl::Time reached = history.Newest().taken_at;
  for (size_t i = history.snapshots.size(); i-- > 0;) {
    const absl::Time at = history.snapshots[i]->taken_at;
    if (reached - at > stale_after) break;
    reached = at;
  }
  return history.Newest().taken_at - reached;
}

Activity ActivityOf(const Trigger& trigger, const std::vector<ReplicaLoad>& loads,
                    absl::Duration covered) {
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
    if (load.share.state == State::kWarming) {
      return {true, absl::StrCat(load.share.name, " is warming up")};
    }
  }
  if (loads.empty()) return {false, "no replica within activationWindow"};
  if (covered < trigger.activation_window) {
    return {true,
            absl::StrCat("samples cover only ", AgeText(covered), " of activationWindow ", window)};
  }
  for (const ReplicaLoad& load : loads) {
    if (!load.covered) return {true, absl::StrCat(load.share.name, " has gaps within ", window)};
  }
  return {false, absl::StrCat("no replica was above activationThreshold ",
                              NumberText(trigger.activation_threshold), " within ", window)};
}

}  // namespace gpuscaler
