#include "scaling/decision.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/duration_text.h"
#include "base/number_text.h"
#include "scaling/activity.h"
#include "scaling/aggregate.h"
#include "scaling/next_change.h"
#include "scaling/queue_decision.h"
#include "scaling/replica_load.h"
#include "scaling/replicas.h"

namespace gpuscaler {
namespace {

using State = Contribution::State;

// What the replicas add up to, before it becomes a value.
struct Totals {
  std::vector<double> loads;  // of the readable
  int unreadable = 0;
  double idle = 0;  // of GPUs that nobody uses: part of an extensive total

  int Replicas() const { return static_cast<int>(loads.size()) + unreadable; }
};

// DESIGN 2: V = S + m*T for AverageValue, that divided by R for Value; another replicaAggregation f
// gives (R - m) * f + m * T.
double ValueFor(const Trigger& trigger, const Totals& totals) {
  const double readable = static_cast<double>(totals.loads.size());
  double total = totals.unreadable * trigger.target;
  if (!totals.loads.empty()) {
    total += trigger.replica_aggregation == ReplicaAggregation::kAvg
                 ? std::accumulate(totals.loads.begin(), totals.loads.end(), 0.0)
                 : readable * Aggregate(trigger.replica_aggregation, totals.loads);
  }
  if (trigger.target_type == TargetType::kAverageValue) return total + totals.idle;
  return totals.Replicas() == 0 ? 0 : total / totals.Replicas();
}

// engineFallback: activity leaves the number to another trigger: one replica's worth while any
// works.
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
           return contribution.standing && contribution.state != State::kGone;
         });
}

// Of what is missing, as much as people read.
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
    const bool there = contribution.state != State::kGone && contribution.state != State::kIdle;
    for (const std::string& node : contribution.nodes) replicas[node] += there ? 1 : 0;
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

// The normal idle state where nodes come with their pods, or a name that leads nowhere.
constexpr char kNoneListed[] =
    "no agent is listed: there is no GPU node, or --agents names what no agent is behind";

void AddPartial(const FleetHistory& fleet, const std::vector<std::string>& missing,
                Decision& decision) {
  if (fleet.none_listed) decision.notes.emplace_back(kNoneListed);
  decision.partial = !missing.empty();
  if (decision.partial) decision.notes.push_back(PartialText(missing));
}

void AddNotes(const Trigger& trigger, const std::vector<ReplicaLoad>& loads, Decision& decision) {
  const auto unknown = std::ranges::count_if(loads, [](const ReplicaLoad& load) {
    return load.saturation_unknown && load.contribution.state != State::kGone;
  });
  decision.saturation_unknown = unknown > 0;
  if (decision.saturation_unknown) {
    decision.notes.push_back(
        absl::StrCat("saturation unknown: ", CountText(unknown, "replica"),
                     " with preallocated VRAM, and no engine is read; engineFallback is ",
                     Name(trigger.engine_fallback)));
  }
  decision.literal_memory = trigger.metric == MetricType::kMemoryUsedPercent &&
                            trigger.preallocated_memory == PreallocatedMemory::kLiteral &&
                            std::ranges::any_of(decision.contributions, &Contribution::standing);
  if (decision.literal_memory) {
    decision.notes.push_back(
        "memory_used_percent is taken literally: preallocated VRAM counts as load, busy or idle; a "
        "profile such as vllm-inference values it by what it says");
  }
}

void AddFrozen(const Trigger& trigger, const std::vector<Replica>& replicas, Decision& decision) {
  decision.frozen = static_cast<int>(std::ranges::count_if(
      replicas, [](const Replica& replica) { return replica.frozen && replica.present; }));
  if (decision.frozen == 0) return;
  decision.notes.push_back(absl::StrCat(
      "frozen: the engines of ", CountText(decision.frozen, "replica"),
      " tell of requests that have not moved for ", DurationText(trigger.frozen_window),
      " on idle GPUs; they count as none (frozenWindow)"));
}

absl::Status UnreadableStatus(const Trigger& trigger, const Decision& decision) {
  const auto contribution =
      std::ranges::find(decision.contributions, State::kUnreadable, &Contribution::state);
  return absl::UnavailableError(absl::StrCat("none of ", CountText(decision.unreadable, "replica"),
                                             " can be read for ", InfoOf(trigger.metric).name, ": ",
                                             contribution->name, " ", contribution->because));
}

void AddShare(ReplicaLoad& load, Totals& totals, Decision& decision) {
  switch (load.contribution.state) {
    case State::kCounted:
      totals.loads.push_back(*load.contribution.load);
      break;
    case State::kUnreadable:
      ++totals.unreadable;
      break;
    case State::kWarming:
      ++decision.warming;
      break;
    case State::kIdle:
    case State::kGone:
      break;
  }
  decision.contributions.push_back(load.contribution);
}

// Of a node that is mute, `missing` tells already.
void AddMissing(const IdleBlock& block, std::vector<std::string>& missing) {
  if (std::ranges::find(missing, block.why_unreadable) != missing.end()) return;
  missing.push_back(absl::StrCat(block.why_unreadable, ": not in use, adds nothing"));
}

void AddIdle(const Trigger& trigger, const std::vector<IdleBlock>& idle, Totals& totals,
             std::vector<std::string>& missing, Decision& decision) {
  const bool extensive = InfoOf(trigger.metric).extensive;
  for (const IdleBlock& block : idle) {
    Contribution contribution{.name = block.name, .gpus = block.gpu_uuids, .state = State::kIdle};
    contribution.because = "not in use: no replica";
    if (extensive && block.metric) {
      totals.idle += *block.metric;
      contribution.load = block.metric;
    } else if (extensive) {
      contribution.because = "not in use, and cannot be read: adds nothing";
      ++decision.unreadable_idle;
      AddMissing(block, missing);
    }
    decision.contributions.push_back(std::move(contribution));
  }
}

// Of what is not there, or cannot be read, the words tell for how long: they are not to lag behind
// by more than a second.
bool TellsOfAge(const Decision& decision) {
  return decision.partial ||
         std::ranges::any_of(decision.contributions, [](const Contribution& contribution) {
           return contribution.state != State::kCounted && contribution.state != State::kIdle;
         });
}

constexpr absl::Duration kOthersInterval = absl::Seconds(15);

void SetValidity(const Trigger& trigger, const FleetHistory& fleet,
                 const Replicas& workload_replicas, const StalenessLimits& staleness,
                 Decision& decision) {
  const std::vector<Replica>& replicas = workload_replicas.replicas;
  const Validity validity = ValidityOf(trigger, fleet, replicas, staleness);
  decision.active_until = std::min(validity.activity, workload_replicas.changes_at);
  decision.valid_until = std::min(validity.value, workload_replicas.changes_at);
  decision.active_while_read = std::min(validity.while_read, workload_replicas.changes_at);
  // Who holds GPUs in its stead is not its own change, and told anew all the same.
  const bool reported_of_others =
      trigger.scope == Scope::kWorkload && !trigger.workload.empty() && replicas.empty();
  if (reported_of_others) {
    decision.valid_until = std::min(decision.valid_until, fleet.now + kOthersInterval);
  }
  if (!TellsOfAge(decision)) return;
  decision.valid_until = std::min(decision.valid_until, fleet.now + absl::Seconds(1));
}

}  // namespace

absl::string_view Name(State state) {
  switch (state) {
    case State::kCounted:
      return "counted";
    case State::kUnreadable:
      return "unreadable";
    case State::kWarming:
      return "warming";
    case State::kIdle:
      return "idle";
    case State::kGone:
      break;
  }
  return "gone";
}

Decision Decide(const Trigger& trigger, const ScaledObjectRef& scaled_object,
                const FleetHistory& fleet, const SignalHistory* signals,
                const StalenessLimits& staleness) {
  if (!IsOfReplicas(InfoOf(trigger.metric).origin)) {
    return DecideOnQueue(trigger, fleet.now, signals, staleness);
  }
  Decision decision;
  decision.taken_at = fleet.now;
  std::vector<std::string> missing = MissingParts(trigger, fleet, staleness);
  const absl::StatusOr<Replicas> workload_replicas =
      ReplicasOf(trigger, scaled_object, fleet, signals, staleness);
  if (!workload_replicas.ok()) {
    AddPartial(fleet, missing, decision);
    decision.status = workload_replicas.status();
    SetValidity(trigger, fleet, Replicas(), staleness, decision);
    return decision;
  }
  decision.replicas_from = workload_replicas->from;

  Totals totals;
  std::vector<ReplicaLoad> loads;
  loads.reserve(workload_replicas->replicas.size());
  decision.contributions.reserve(workload_replicas->replicas.size() +
                                 workload_replicas->idle.size());
  for (const Replica& replica : workload_replicas->replicas) {
    const absl::Duration unseen = fleet.now - replica.samples.back().at;
    if (!replica.present && unseen > trigger.activation_window) continue;
    loads.push_back(LoadOf(trigger, replica, fleet.now, staleness));
    AddShare(loads.back(), totals, decision);
  }
  AddIdle(trigger, workload_replicas->idle, totals, missing, decision);
  AddPartial(fleet, missing, decision);
  AddNodes(fleet, staleness, decision);
  decision.replicas = totals.Replicas();
  decision.unreadable = totals.unreadable;
  AddNotes(trigger, loads, decision);
  AddFrozen(trigger, workload_replicas->replicas, decision);
  decision.by_engines = std::ranges::any_of(workload_replicas->replicas, &Replica::by_engine);
  decision.ambiguity = workload_replicas->ambiguity;
  if (!decision.ambiguity.text.empty()) decision.notes.push_back(decision.ambiguity.text);
  std::ranges::copy(workload_replicas->notes, std::back_inserter(decision.notes));
  SetValidity(trigger, fleet, *workload_replicas, staleness, decision);

  if (totals.loads.empty() && totals.unreadable > 0) {
    decision.status = UnreadableStatus(trigger, decision);
    return decision;
  }
  if (decision.warming == 0 && totals.loads.empty() && !workload_replicas->unseen.ok()) {
    decision.status = workload_replicas->unseen;
    return decision;
  }
  decision.value =
      RoundToThreeDecimals(OnlyActivityIsKnown(trigger, decision) ? ActivityValue(trigger, decision)
                                                                  : ValueFor(trigger, totals));
  const Activity activity = ActivityOf(trigger, loads, fleet.now);
  decision.active = activity.active;
  decision.active_because = activity.because;
  decision.evidence_until = EvidenceUntil(trigger, loads, staleness);
  return decision;
}

}  // namespace gpuscaler
