#include "scaling/activity.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/duration_text.h"
#include "base/number_text.h"
#include "trigger/trigger_source.h"

namespace gpuscaler {

using State = Contribution::State;

namespace {

absl::Duration CoveredTime(const std::vector<ReplicaLoad>& loads, absl::Time now) {
  absl::Time since = absl::InfinitePast();
  for (const ReplicaLoad& load : loads) since = std::max(since, load.replica->covered_since);
  return now - since;
}

std::string ActiveText(const Trigger& trigger, const ReplicaLoad& load) {
  const Contribution& contribution = load.contribution;
  const bool newest_alone = trigger.activation_window == absl::ZeroDuration();
  const std::string when =
      newest_alone ? "" : absl::StrCat(" within ", DurationText(trigger.activation_window));
  if (!load.above_threshold) {
    return absl::StrCat(contribution.name, newest_alone ? " serves" : " served", " requests", when,
                        contribution.busy ? ", and its GPUs worked" : "; its GPUs are not known");
  }
  return absl::StrCat(contribution.name, newest_alone ? " is at " : " was at ",
                      NumberText(contribution.peak), when, ", above activationThreshold ",
                      NumberText(trigger.activation_threshold));
}

std::string NoneAboveText(const Trigger& trigger) {
  const bool of_replicas = IsOfReplicas(InfoOf(trigger.metric).origin);
  std::string above =
      absl::StrCat(of_replicas ? "no replica was" : "it was not", " above activationThreshold ",
                   NumberText(trigger.activation_threshold));
  if (trigger.activation_window == absl::ZeroDuration()) return above;
  return absl::StrCat(above, " within ", DurationText(trigger.activation_window));
}

// Returns why the trigger is active. Empty: it is not.
std::string WhyActive(const Trigger& trigger, const std::vector<ReplicaLoad>& loads,
                      absl::Time now) {
  if (trigger.always_active) return "scaleIn is hold: never at zero";
  for (const ReplicaLoad& load : loads) {
    if (load.active && load.contribution.state != State::kTerminating) {
      return ActiveText(trigger, load);
    }
  }
  for (const ReplicaLoad& load : loads) {
    if (load.contribution.state == State::kUnreadable) {
      return absl::StrCat(load.contribution.name, " is there but cannot be read");
    }
    if (load.contribution.state == State::kStarting && load.starts) {
      return absl::StrCat(load.contribution.name, " is starting");
    }
    if (load.contribution.state == State::kTerminating && load.active) {
      return absl::StrCat(load.contribution.name,
                          " terminates, and was active when its deletion began");
    }
  }
  if (loads.empty()) return "";
  const std::string window = DurationText(trigger.activation_window);
  const absl::Duration covered = CoveredTime(loads, now);
  if (covered < trigger.activation_window) {
    return absl::StrCat("samples cover only ", AgeText(covered), " of activationWindow ", window);
  }
  for (const ReplicaLoad& load : loads) {
    if (!load.covered && load.contribution.state != State::kStarting)
      return absl::StrCat(load.contribution.name, " has gaps within ", window);
  }
  return "";
}

// See Decision::evidence_until. A reading is valid for stale_after, so the newest may be that old.
absl::Time EvidenceUntil(const Trigger& trigger, const std::vector<ReplicaLoad>& loads,
                         const StalenessLimits& staleness) {
  if (trigger.always_active) return absl::InfiniteFuture();
  absl::Time newest = absl::InfinitePast();
  for (const ReplicaLoad& load : loads) newest = std::max(newest, load.active_at);
  const bool may_freeze = ReadsEngines(trigger) || ReadsPressure(trigger);
  const absl::Duration window = may_freeze
                                    ? std::min(trigger.activation_window, trigger.frozen_window)
                                    : trigger.activation_window;
  absl::Time until = newest - staleness.stale_after + window;
  for (const ReplicaLoad& load : loads) until = std::min(until, load.replica->frozen_at);
  return until;
}

}  // namespace

void SetActivity(const DecisionInputs& inputs, const std::vector<ReplicaLoad>& loads,
                 Decision& decision) {
  const Trigger& trigger = inputs.trigger;
  decision.active_because = WhyActive(trigger, loads, inputs.fleet.now);
  decision.active = !decision.active_because.empty();
  if (!decision.active) {
    decision.active_because =
        loads.empty() ? "no replica within activationWindow" : NoneAboveText(trigger);
  }
  decision.evidence_until = EvidenceUntil(trigger, loads, inputs.staleness);
}

}  // namespace gpuscaler
