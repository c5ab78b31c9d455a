#include "scaling/decision.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/duration_text.h"
#include "base/number_text.h"
#include "scaling/activity.h"
#include "scaling/aggregate.h"
#include "scaling/hold.h"
#include "scaling/next_change.h"
#include "scaling/queue_decision.h"
#include "scaling/replica_load.h"
#include "scaling/replicas.h"
#include "scaling/shared_gpus.h"
#include "scaling/window_load.h"
#include "scaling/workload_demand.h"
#include "trigger/trigger_source.h"

namespace gpuscaler {
namespace {

using State = Contribution::State;

void AddDemand(const Trigger& trigger, const Replicas& replicas, Decision& decision) {
  const bool held_for_none = replicas.held.Any() && decision.replicas == 0;
  if (!ComputesDemand(trigger) || !(decision.by_engines || held_for_none)) return;
  decision.demand = DemandOfWorkload(trigger, replicas);
  decision.batch_limit = replicas.batch_limit;
  decision.by_demand =
      CountsDemand(trigger) && decision.demand.has_value() && decision.demand->replicas.has_value();
  std::string note = DemandNote(trigger, decision);
  if (!note.empty()) decision.notes.push_back(std::move(note));
  decision.latency = LatencyDemandOfWorkload(trigger, replicas);
  if (decision.latency.has_value()) {
    decision.notes.push_back(
        absl::StrCat(LatencyText(*decision.latency), CountsDemand(trigger) ? "" : kObserved));
  }
  if (trigger.metric != MetricType::kDemandReplicas) return;
  for (Contribution& contribution : decision.contributions) {
    if (!contribution.load.has_value()) continue;
    contribution.because = CountText(std::llround(*contribution.load), "request") + " in flight";
    contribution.load.reset();
  }
}

void AddBatchLimit(const Trigger& trigger, const Replicas& replicas, Decision& decision) {
  if (!CountsPressure(trigger)) return;
  decision.batch_limit = replicas.batch_limit;
  if (trigger.max_concurrency.has_value()) decision.batch_limit_known = true;
  for (const WorkloadEngine& engine : replicas.engines) {
    if (!engine.is_present) continue;
    const bool has_limit = LimitOf(trigger, *engine.series, replicas.batch_limit).has_value();
    decision.batch_limit_known = decision.batch_limit_known.value_or(true) && has_limit;
  }
}

// With engineFallback: activity another trigger gives the number. Returns one target while any
// replica is busy.
double ActivityValue(const Trigger& trigger, const Decision& decision) {
  const bool working =
      decision.unreadable > 0 ||
      std::ranges::any_of(decision.contributions, [](const Contribution& contribution) {
        return contribution.busy && contribution.state == State::kCounted;
      });
  return working ? trigger.target : 0;
}

bool OnlyActivityIsKnown(const Trigger& trigger, const Decision& decision) {
  return trigger.preallocated_memory == PreallocatedMemory::kPressure &&
         trigger.engine_fallback == EngineFallback::kActivity &&
         std::ranges::any_of(decision.contributions, [](const Contribution& contribution) {
           return contribution.is_preallocated && contribution.state != State::kGone;
         });
}

// Limits the list to what people read.
std::string PartialText(const std::vector<std::string>& missing) {
  constexpr size_t kNamed = 3;
  const size_t named = std::min(missing.size(), kNamed);
  const size_t more = missing.size() - named;
  const auto end = missing.begin() + static_cast<std::ptrdiff_t>(named);
  return absl::StrCat("partial: ", absl::StrJoin(missing.begin(), end, "; "),
                      more > 0 ? absl::StrCat("; and ", more, " more") : "");
}

void AddNodes(const FleetHistory& fleet, const StalenessLimits& staleness, Decision& decision) {
  std::map<std::string, int> replicas;
  for (const Contribution& contribution : decision.contributions) {
    const bool counts =
        contribution.state == State::kCounted || contribution.state == State::kUnreadable;
    for (const std::string& node : contribution.nodes) replicas[node] += counts ? 1 : 0;
  }
  for (const NodeState& state : fleet.nodes) {
    const auto found = replicas.find(state.node);
    if (found == replicas.end()) continue;
    decision.nodes.push_back({.name = state.node,
                              .replicas = found->second,
                              .age = fleet.now - state.history->NewestAt(),
                              .why = WhyStale(state, fleet.now, staleness)});
  }
}

// Normal if nodes come with their pods; otherwise --agents may be wrong.
constexpr char kNoneListed[] =
    "no agent is listed: there is no GPU node, or --agents names what no agent is behind";

void AddPartial(const FleetHistory& fleet, const std::vector<std::string>& missing,
                Decision& decision) {
  if (fleet.none_listed) decision.notes.emplace_back(kNoneListed);
  decision.partial = !missing.empty();
  if (decision.partial) decision.notes.push_back(PartialText(missing));
}

void AddNotes(const Trigger& trigger, const std::vector<ReplicaLoad>& loads, Decision& decision) {
  for (const ReplicaLoad& load : loads) {
    const bool starts_for_too_long = load.contribution.state == State::kStarting && !load.starts;
    if (starts_for_too_long) decision.unstarted.push_back(load.contribution.name);
  }
  if (!decision.unstarted.empty()) {
    decision.notes.push_back(absl::StrCat(absl::StrJoin(decision.unstarted, ", "),
                                          " did not start within ", DurationText(kLongestStart),
                                          ": no replica, and the value is not held for it"));
  }
  const auto preallocated =
      std::ranges::count_if(decision.contributions, [](const Contribution& contribution) {
        return contribution.is_preallocated && contribution.state != State::kTerminating;
      });
  decision.saturation_unknown =
      trigger.preallocated_memory == PreallocatedMemory::kPressure && preallocated > 0;
  if (decision.saturation_unknown) {
    decision.notes.push_back(
        absl::StrCat("saturation unknown: ", CountText(preallocated, "replica"),
                     " with preallocated VRAM, and no engine is read; engineFallback is ",
                     Name(trigger.engine_fallback)));
  }
  decision.literal_memory =
      trigger.metric == MetricType::kMemoryUsedPercent &&
      trigger.preallocated_memory == PreallocatedMemory::kLiteral &&
      std::ranges::any_of(decision.contributions, &Contribution::is_preallocated);
  if (decision.literal_memory) {
    decision.notes.push_back(
        "memory_used_percent is taken literally: preallocated VRAM counts as load, busy or idle; a "
        "profile such as vllm-inference values it by load");
  }
}

void AddFrozen(const Trigger& trigger, const std::vector<Replica>& replicas, Decision& decision) {
  decision.frozen = static_cast<int>(std::ranges::count_if(
      replicas, [](const Replica& replica) { return replica.frozen && replica.present; }));
  if (decision.frozen == 0) return;
  decision.notes.push_back(
      absl::StrCat("frozen: the engines of ", CountText(decision.frozen, "replica"),
                   " report requests that have not moved for ", DurationText(trigger.frozen_window),
                   " on idle GPUs; they count as none (frozenWindow)"));
}

absl::Status UnreadableStatus(const Trigger& trigger, const Decision& decision) {
  const auto contribution =
      std::ranges::find(decision.contributions, State::kUnreadable, &Contribution::state);
  return absl::UnavailableError(absl::StrCat("none of ", CountText(decision.unreadable, "replica"),
                                             " can be read for ", InfoOf(trigger.metric).name, ": ",
                                             contribution->name, " ", contribution->because));
}

void AddContribution(const ReplicaLoad& load, Totals& totals, Decision& decision) {
  switch (load.contribution.state) {
    case State::kCounted:
      totals.loads.push_back(*load.contribution.load);
      break;
    case State::kUnreadable:
      ++totals.unreadable;
      break;
    case State::kStarting:
      ++decision.starting;
      break;
    case State::kTerminating:
      ++decision.terminating;
      break;
    case State::kUnused:
    case State::kGone:
      break;
  }
  totals.past_load += load.past_load;
  decision.contributions.push_back(load.contribution);
}

// If the node is disconnected, `missing` already has the reason.
void AddMissing(const std::string& why, std::vector<std::string>& missing) {
  if (std::ranges::find(missing, why) != missing.end()) return;
  missing.push_back(absl::StrCat(why, ": not in use, adds nothing"));
}

void AddUnused(const Trigger& trigger, const std::vector<Contribution>& unused, Totals& totals,
               std::vector<std::string>& missing, Decision& decision) {
  for (const Contribution& block : unused) {
    Contribution& contribution = decision.contributions.emplace_back(block);
    contribution.because = "not in use: no replica";
    if (!InfoOf(trigger.metric).extensive) {
      contribution.load.reset();
    } else if (block.load) {
      totals.unused += *block.load;
    } else {
      contribution.because = "not in use, and cannot be read: adds nothing";
      ++decision.unreadable_unused;
      AddMissing(block.because, missing);
    }
  }
}

// Texts on gone or unreadable parts have an age, which must not lag by more than a second.
bool HasAgeText(const Decision& decision) {
  return decision.partial ||
         std::ranges::any_of(decision.contributions, [](const Contribution& contribution) {
           return contribution.state != State::kCounted && contribution.state != State::kUnused;
         });
}

// Returns when the first of the replicas that start or end did so. InfiniteFuture: none does.
absl::Time FirstChange(const std::vector<Replica>& replicas, absl::Time now) {
  absl::Time first = absl::InfiniteFuture();
  for (const Replica& replica : replicas) {
    if (!replica.present) continue;
    const bool starts = now < replica.started_at && now - replica.starting_since <= kLongestStart;
    first = std::min(first, starts ? replica.starting_since : replica.ending_since);
  }
  return first;
}

// While some replicas start or end, includes the past before that, which the hold needs (hold.h):
// kHoldLookBack of it if a replica was counted throughout, otherwise all that is kept. Requires
// known owners: without them the replicas that start may belong to another workload. If a gateway
// holds requests and there is no replica, departed engines show what a replica serves.
absl::StatusOr<Replicas> ReplicasWithPast(const DecisionInputs& inputs) {
  const absl::Time now = inputs.fleet.now;
  const absl::Time oldest = OldestLookedAt(inputs.trigger, now, inputs.staleness);
  absl::StatusOr<Replicas> replicas = ReplicasOf(inputs, oldest);
  if (!replicas.ok() || !IsByOwner(inputs.trigger, inputs.fleet)) return replicas;
  const absl::Time first = FirstChange(replicas->replicas, now);
  const bool starts_from_zero =
      replicas->held.Any() && std::ranges::none_of(replicas->replicas, &Replica::present);
  if (starts_from_zero) return ReplicasOf(inputs, absl::InfinitePast());
  if (first == absl::InfiniteFuture()) return replicas;
  const absl::Time held_from = first - kHoldLookBack;
  const bool was_counted = std::ranges::any_of(replicas->replicas, [&](const Replica& replica) {
    return replica.counted_since <= held_from && CountedUntil(replica, now) >= first;
  });
  return ReplicasOf(inputs, was_counted ? held_from - (now - oldest) : absl::InfinitePast());
}

bool StartsOrEnds(const ReplicaLoad& load) {
  return load.starts || load.contribution.state == State::kTerminating;
}

// The earlier load of a replica that departed before activationWindow still counts in the mean over
// a longer window.
std::vector<ReplicaLoad> AddReplicas(const DecisionInputs& inputs,
                                     const std::vector<Replica>& replicas, Totals& totals,
                                     Decision& decision) {
  const Trigger& trigger = inputs.trigger;
  const absl::Time now = inputs.fleet.now;
  std::vector<ReplicaLoad> loads;
  loads.reserve(replicas.size());
  decision.contributions.reserve(replicas.size());
  for (const Replica& replica : replicas) {
    const absl::Duration unseen = now - replica.samples.back().at;
    if (!replica.present && unseen > trigger.activation_window) {
      if (unseen < SmoothingOf(trigger)) {
        totals.past_load += PastLoadOf(trigger, replica, now);
      }
      continue;
    }
    loads.push_back(LoadOf(trigger, replica, now, inputs.staleness));
  }
  LimitNotEvaluated(trigger, now, loads);
  for (const ReplicaLoad& load : loads) AddContribution(load, totals, decision);
  return loads;
}

// `sum` is exact to the three decimals of a value.
double ReplicasFor(const Trigger& trigger, double sum) {
  return std::ceil(RoundToThreeDecimals(sum) / trigger.target - 1e-9);
}

// `sum` is V for AverageValue without the hold.
void AddHold(const Trigger& trigger, const ValueHold& hold, double sum, bool only_activity,
             Decision& decision) {
  decision.look_back = hold.look_back;
  if (hold.reason.empty()) return;
  const double lower_bound =
      only_activity ? std::min(hold.lower_bound, trigger.target) : hold.lower_bound;
  const bool of_mean = trigger.target_type == TargetType::kValue;
  const bool holds =
      of_mean && !only_activity
          ? decision.replicas == 0 ||
                sum <= trigger.target * std::max(ReplicasFor(trigger, lower_bound), 1e-9)
          : decision.value < lower_bound;
  if (!holds) return;
  decision.value = of_mean ? trigger.target : lower_bound;
  decision.held_because = hold.reason;
  decision.notes.push_back(absl::StrCat("holds: ", hold.reason));
}

constexpr absl::Duration kOtherPodsTextInterval = absl::Seconds(15);

void SetValidity(const DecisionInputs& inputs, const Replicas& workload_replicas,
                 Decision& decision) {
  const Trigger& trigger = inputs.trigger;
  const absl::Time now = inputs.fleet.now;
  const std::vector<Replica>& replicas = workload_replicas.replicas;
  SetValidUntil(trigger, inputs.fleet, replicas, inputs.staleness, decision);
  for (absl::Time* const until :
       {&decision.active_until, &decision.valid_until, &decision.active_while_read}) {
    *until = std::min(*until, workload_replicas.changes_at);
  }
  // Other pods that hold GPUs do not change the decision, but its texts name them.
  const bool names_other_pods =
      trigger.scope == Scope::kWorkload && !trigger.workload.empty() && replicas.empty();
  if (names_other_pods) {
    decision.valid_until = std::min(decision.valid_until, now + kOtherPodsTextInterval);
  }
  if (!HasAgeText(decision)) return;
  decision.valid_until = std::min(decision.valid_until, now + absl::Seconds(1));
}

}  // namespace

absl::string_view Name(State state) {
  // In the order of the enum.
  constexpr absl::string_view kNames[] = {"counted",     "unreadable", "starting",
                                          "terminating", "unused",     "gone"};
  static_assert(std::size(kNames) == static_cast<size_t>(State::kGone) + 1);
  return kNames[static_cast<size_t>(state)];
}

Decision Decide(const Trigger& trigger, const ScaledObjectRef& scaled_object,
                const FleetHistory& fleet, const SignalHistory* signals,
                const StalenessLimits& staleness) {
  const DecisionInputs inputs{trigger, scaled_object, fleet, signals, staleness};
  if (!IsOfReplicas(InfoOf(trigger.metric).origin)) return DecideOnQueue(inputs);
  Decision decision;
  decision.taken_at = fleet.now;
  std::vector<std::string> missing = MissingParts(inputs);
  const absl::StatusOr<Replicas> workload_replicas = ReplicasWithPast(inputs);
  if (!workload_replicas.ok()) {
    AddPartial(fleet, missing, decision);
    decision.status = workload_replicas.status();
    SetValidity(inputs, Replicas(), decision);
    return decision;
  }
  decision.replicas_from = workload_replicas->from;

  Totals totals;
  const std::vector<ReplicaLoad> loads =
      AddReplicas(inputs, workload_replicas->replicas, totals, decision);
  AddUnused(trigger, workload_replicas->unused, totals, missing, decision);
  AddPartial(fleet, missing, decision);
  AddNodes(fleet, staleness, decision);
  decision.replicas = totals.Replicas();
  decision.unreadable = totals.unreadable;
  AddNotes(trigger, loads, decision);
  AddFrozen(trigger, workload_replicas->replicas, decision);
  decision.by_engines = std::ranges::any_of(workload_replicas->replicas, &Replica::by_engine);
  const HeldRequests& held = workload_replicas->held;
  AddBatchLimit(trigger, *workload_replicas, decision);
  AddDemand(trigger, *workload_replicas, decision);
  if (std::string note = HeldText(held); !note.empty()) decision.notes.push_back(std::move(note));
  decision.ambiguity = workload_replicas->ambiguity;
  if (!decision.ambiguity.text.empty()) decision.notes.push_back(decision.ambiguity.text);
  std::ranges::copy(workload_replicas->notes, std::back_inserter(decision.notes));
  if (InfoOf(trigger.metric).divisible && IsByOwner(trigger, fleet)) {
    std::ranges::move(SharedGpuNotes(fleet, decision.contributions),
                      std::back_inserter(decision.notes));
  }
  SetValidity(inputs, *workload_replicas, decision);

  if (totals.loads.empty() && totals.unreadable > 0) {
    decision.status = UnreadableStatus(trigger, decision);
    return decision;
  }
  if (decision.starting == 0 && totals.loads.empty() && !workload_replicas->zero_status.ok()) {
    decision.status = workload_replicas->zero_status;
    return decision;
  }
  const bool none_there =
      decision.replicas == 0 && decision.starting == 0 && decision.terminating == 0;
  if (none_there && !held.why_unreadable.empty()) {
    decision.status = absl::UnavailableError(HeldText(held));
    return decision;
  }
  // Without the demand, the loads are requests in flight.
  const bool demand_is_missing =
      trigger.metric == MetricType::kDemandReplicas && !decision.by_demand;
  if (demand_is_missing && decision.replicas > 0) {
    decision.status = absl::UnavailableError(DemandNote(trigger, decision));
    return decision;
  }
  const bool only_activity = OnlyActivityIsKnown(trigger, decision);
  if (only_activity) {
    decision.value = ActivityValue(trigger, decision);
  } else if (!demand_is_missing) {
    decision.value = ValueFor(trigger, totals);
  }
  if (decision.by_demand) decision.value = ValueWithDemand(trigger, decision.value, decision);
  if (decision.latency.has_value() && CountsDemand(trigger)) {
    const double needed = decision.latency->replicas + decision.unreadable;
    decision.value = std::max(decision.value, ValueOfReplicas(trigger, needed, decision));
  }
  if (IsByOwner(trigger, fleet) && std::ranges::any_of(loads, StartsOrEnds)) {
    const double sum =
        decision.by_demand ? trigger.target * ReplicasNeeded(decision) : SumOf(trigger, totals);
    AddHold(trigger, HoldOf(trigger, *workload_replicas, loads, fleet.now), sum, only_activity,
            decision);
  }
  // Departed engines show what a replica serves.
  if (held.Any() && decision.replicas == 0) decision.look_back = kLongestWindow;
  decision.value = RoundToThreeDecimals(decision.value);
  SetActivity(inputs, loads, decision);
  if (!decision.active && KeepsActive(trigger, held)) {
    decision.active = true;
    decision.active_because = HeldText(held);
  }
  return decision;
}

}  // namespace gpuscaler
