#include "scaling/workload_demand.h"

#include <algorithm>
#include <deque>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "scaling/workload_engines.h"
#include "trigger/trigger_source.h"

namespace gpuscaler {
namespace {

// The most that pressure can count, as a multiple of arrivals: the backlog already counts a queue,
// and without a bound, pressure would double the replicas once a pod start.
constexpr double kMaxByPressure = 1.25;

// Returns the sums as of `at`, with the present capacity. Requests in flight at that time are not
// kept.
EngineDemand UpTo(absl::Time at, const EngineDemand& sums) {
  EngineDemand then = sums;
  then.newest_at = std::min(then.newest_at, BeginOfBin(at));
  then.waiting = 0;
  then.running = 0;
  std::erase_if(then.bins, [at](const RequestBin& bin) {
    return bin.arrived != 0 && bin.begin + kDemandBin > at;
  });
  return then;
}

// Only present engines count. With the clock instead, a decision would change by itself.
absl::Time NewestReading(const std::vector<EngineDemandInput>& engines) {
  absl::Time newest = absl::InfinitePast();
  for (const EngineDemandInput& engine : engines) {
    if (engine.sums != nullptr && engine.is_present) {
      newest = std::max(newest, engine.sums->newest_at);
    }
  }
  return newest;
}

std::set<absl::string_view> FrozenReplicas(const Replicas& replicas) {
  std::set<absl::string_view> names;
  for (const Replica& replica : replicas.replicas) {
    if (replica.frozen) names.insert(replica.name);
  }
  return names;
}

std::vector<EngineDemandInput> EnginesOf(const Trigger& trigger, const Replicas& replicas) {
  const std::set<absl::string_view> frozen = FrozenReplicas(replicas);
  std::vector<EngineDemandInput> engines;
  for (const WorkloadEngine& engine : replicas.engines) {
    const SignalSeries& series = *engine.series;
    // An engine that never answered is still loading: the arrivals are those of the others.
    const bool has_answered = series.first_read_at != absl::InfiniteFuture();
    if (!has_answered || (series.demand == nullptr && !engine.is_present)) continue;
    engines.push_back({.sums = series.demand.get(),
                       .gpu_model = engine.gpu_model,
                       .is_present = engine.is_present,
                       .is_of_newest_template = engine.is_of_newest_template,
                       .is_frozen = frozen.contains(engine.replica),
                       .limit = LimitOf(trigger, series, replicas.batch_limit)});
  }
  // A gateway that cannot be read still counts with its past, as an engine that left.
  const HeldRequests& held = replicas.held;
  if (held.gateway != nullptr && held.gateway->demand != nullptr) {
    engines.push_back({.sums = held.gateway->demand.get(),
                       .is_present = held.count.has_value(),
                       .is_gateway = true});
  }
  return engines;
}

}  // namespace

std::optional<Demand> DemandOfWorkload(const Trigger& trigger, const Replicas& replicas) {
  if (!ComputesDemand(trigger)) return std::nullopt;
  const std::vector<EngineDemandInput> engines = EnginesOf(trigger, replicas);
  const absl::Time now = NewestReading(engines);
  if (now == absl::InfinitePast()) return std::nullopt;
  return DemandOf(engines, trigger.tpot_slo, now);
}

std::optional<double> DemandAt(const Trigger& trigger, const Replicas& replicas, absl::Time at) {
  if (!CountsDemand(trigger)) return std::nullopt;
  std::vector<EngineDemandInput> engines = EnginesOf(trigger, replicas);
  std::deque<EngineDemand> then;  // elements keep their addresses
  std::erase_if(engines, [at](const EngineDemandInput& engine) {
    return engine.sums == nullptr || engine.sums->first_at >= at;
  });
  for (EngineDemandInput& engine : engines) {
    const bool is_remembered = engine.sums->first_at == absl::InfinitePast();
    engine.is_present = !is_remembered && engine.sums->newest_at >= at - kPresentAfterReading;
    engine.sums = &then.emplace_back(UpTo(at, *engine.sums));
  }
  const absl::Time newest = NewestReading(engines);
  if (newest == absl::InfinitePast()) return std::nullopt;
  return DemandOf(engines, trigger.tpot_slo, newest).replicas;
}

std::optional<LatencyDemand> LatencyDemandOfWorkload(const Trigger& trigger,
                                                     const Replicas& replicas) {
  if (!ComputesDemand(trigger) || !trigger.ttft_slo.has_value()) return std::nullopt;
  const std::vector<EngineDemandInput> engines = EnginesOf(trigger, replicas);
  return LatencyDemandOf(engines, NewestReading(engines));
}

double ValueWithDemand(const Trigger& trigger, double pressure_value, const Decision& decision) {
  const double value = ValueOfReplicas(trigger, ReplicasNeeded(decision), decision);
  if (trigger.metric == MetricType::kDemandReplicas) return value;
  const double arrivals = ReplicasNeeded(decision) - decision.demand->backlog;
  const double most = kMaxByPressure * ValueOfReplicas(trigger, arrivals, decision);
  return std::clamp(pressure_value, value, std::max(value, most));
}

double ValueOfReplicas(const Trigger& trigger, double replicas, const Decision& decision) {
  if (trigger.target_type != TargetType::kValue) return trigger.target * replicas;
  return decision.replicas == 0 ? 0 : trigger.target / decision.replicas * replicas;
}

double ReplicasNeeded(const Decision& decision) {
  const double demand = *decision.demand->replicas;
  const int unread = decision.replicas - decision.demand->engines;
  const double with_unread = demand + std::clamp(unread, 0, decision.unreadable);
  return std::max(with_unread, static_cast<double>(decision.unreadable));
}

std::string DemandNote(const Trigger& trigger, const Decision& decision) {
  const std::optional<Demand>& demand = decision.demand;
  if (!demand.has_value()) {
    if (!CountsDemand(trigger)) return "";
    return decision.replicas == 0 ? "demand: not known: no replica is serving"
                                  : "demand: not known: no engine reports finished requests, "
                                    "running requests and generated tokens";
  }
  std::string text = DemandText(*demand);
  if (CountsDemand(trigger) || !demand->replicas.has_value()) return text;
  return absl::StrCat(text, kObserved);
}

}  // namespace gpuscaler
