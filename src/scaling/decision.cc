#include "scaling/decision.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "base/number_text.h"
#include "scaling/activity.h"
#include "scaling/aggregate.h"
#include "scaling/replica.h"
#include "scaling/replica_load.h"
#include "scaling/scope.h"

namespace gpuscaler {
namespace {

using State = ReplicaShare::State;

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
  const bool working = decision.unreadable > 0 ||
                       std::ranges::any_of(decision.shares, [](const ReplicaShare& share) {
                         return share.busy && share.state == State::kCounted;
                       });
  return working ? trigger.target : 0;
}

bool OnlyActivityIsKnown(const Trigger& trigger, const Decision& decision) {
  return trigger.standing_memory == StandingMemory::kPressure &&
         trigger.engine_fallback == EngineFallback::kActivity &&
         std::ranges::any_of(decision.shares, [](const ReplicaShare& share) {
           return share.standing && share.state != State::kGone;
         });
}

void AddNotes(const Trigger& trigger, const std::vector<ReplicaLoad>& loads, Decision& decision) {
  const auto unknown = std::ranges::count_if(loads, [](const ReplicaLoad& load) {
    return load.saturation_unknown && load.share.state != State::kGone;
  });
  decision.saturation_unknown = unknown > 0;
  if (decision.saturation_unknown) {
    decision.notes.push_back(
        absl::StrCat("saturation unknown: ", CountText(unknown, "replica"),
                     " with preallocated VRAM, and no engine is read; engineFallback is ",
                     Name(trigger.engine_fallback)));
  }
  decision.literal_memory = trigger.metric == MetricType::kMemoryUsedPercent &&
                            trigger.standing_memory == StandingMemory::kLiteral &&
                            std::ranges::any_of(decision.shares, &ReplicaShare::standing);
  if (decision.literal_memory) {
    decision.notes.push_back(
        "memory_used_percent is taken literally: preallocated VRAM counts as load, busy or idle; a "
        "profile such as vllm-inference values it by what it says");
  }
}

absl::Status UnreadableStatus(const Trigger& trigger, const Decision& decision) {
  const auto share = std::ranges::find(decision.shares, State::kUnreadable, &ReplicaShare::state);
  return absl::UnavailableError(absl::StrCat("none of ", CountText(decision.unreadable, "replica"),
                                             " can be read for ", InfoOf(trigger.metric).name, ": ",
                                             share->name, " ", share->because));
}

// True while no GPU that is there has shown the metric for stale_after: whether one is in use is
// then unknown as well.
bool NothingReadable(const Trigger& trigger, const ScopedHistory& scoped,
                     absl::Duration stale_after) {
  const MetricTypeInfo& metric = InfoOf(trigger.metric);
  bool any_present = false;
  for (const GpuSeries& gpu : scoped.gpus) {
    if (!gpu.present) continue;
    any_present = true;
    for (size_t i = scoped.times.size();
         i-- > 0 && scoped.Now() - scoped.times[i] <= stale_after;) {
      if (gpu.samples[i] != nullptr && metric.read(*gpu.samples[i])) return false;
    }
  }
  return any_present;
}

absl::Status NothingReadableStatus(const Trigger& trigger, const ScopedHistory& scoped) {
  const MetricTypeInfo& metric = InfoOf(trigger.metric);
  for (const GpuSeries& gpu : scoped.gpus) {
    if (!gpu.present) continue;
    const GpuGap* gap = FindGap(*gpu.samples.back(), metric.field);
    if (gap == nullptr) continue;
    return absl::UnavailableError(
        absl::StrCat("no GPU can be read for ", metric.name, ": ", gpu.name, " ", Why(*gap)));
  }
  return absl::UnavailableError(absl::StrCat("no GPU can be read for ", metric.name));
}

void AddShare(ReplicaLoad& load, Totals& totals, Decision& decision) {
  switch (load.share.state) {
    case State::kCounted:
      totals.loads.push_back(*load.share.load);
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
  decision.shares.push_back(load.share);
}

void AddIdle(const Trigger& trigger, const std::vector<IdleBlock>& idle, Totals& totals,
             Decision& decision) {
  const bool extensive = InfoOf(trigger.metric).extensive;
  for (const IdleBlock& block : idle) {
    ReplicaShare share{.name = block.name, .gpus = block.gpu_uuids, .state = State::kIdle};
    share.because = "not in use: no replica";
    if (extensive && block.metric) {
      totals.idle += *block.metric;
      share.load = block.metric;
    } else if (extensive) {
      share.because = "not in use, and cannot be read: adds nothing";
    }
    decision.shares.push_back(std::move(share));
  }
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

Decision Decide(const Trigger& trigger, const NodeHistory& history, absl::Duration stale_after) {
  Decision decision;
  decision.taken_at = history.Newest().taken_at;
  const absl::StatusOr<ScopedHistory> scoped = ScopeOf(trigger, history, stale_after);
  if (!scoped.ok()) {
    decision.status = scoped.status();
    return decision;
  }
  const Population population = ReplicasInUse(trigger, *scoped, stale_after);
  decision.replicas_from = population.from;

  const absl::Duration covered = CoveredTime(history, stale_after);
  const Evidence evidence{
      .now = scoped->Now(), .since = scoped->Now() - covered, .stale_after = stale_after};
  Totals totals;
  std::vector<ReplicaLoad> loads;
  loads.reserve(population.replicas.size());
  decision.shares.reserve(population.replicas.size() + population.idle.size());
  for (const Replica& replica : population.replicas) {
    const absl::Duration unseen = scoped->Now() - replica.samples.back().at;
    if (!replica.present && unseen > trigger.activation_window) continue;
    loads.push_back(LoadOf(trigger, replica, evidence));
    AddShare(loads.back(), totals, decision);
  }
  AddIdle(trigger, population.idle, totals, decision);
  decision.replicas = totals.Replicas();
  decision.unreadable = totals.unreadable;
  AddNotes(trigger, loads, decision);

  if (totals.loads.empty() && totals.unreadable > 0) {
    decision.status = UnreadableStatus(trigger, decision);
    return decision;
  }
  if (decision.warming == 0 && totals.loads.empty() &&
      NothingReadable(trigger, *scoped, stale_after)) {
    decision.status = NothingReadableStatus(trigger, *scoped);
    return decision;
  }
  decision.value =
      RoundToThreeDecimals(OnlyActivityIsKnown(trigger, decision) ? ActivityValue(trigger, decision)
                                                                  : ValueFor(trigger, totals));
  const Activity activity = ActivityOf(trigger, loads, covered);
  decision.active = activity.active;
  decision.active_because = activity.because;
  return decision;
}

}  // namespace gpuscaler
