#include "serve/trigger_metrics.h"

#include <iterator>

#include "absl/strings/string_view.h"
#include "page/metric_family.h"

namespace gpuscaler {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;

constexpr absl::Duration kExpireAfter = absl::Minutes(15);

// Indexes of kFamilies.
enum TriggerFamily : size_t {
  kDemandReplicas,
  kDemandKnown,
  kDemandCounts,
  kLatencyReplicas,
  kDemandArrivals,
  kReplicaCapacity,
  kBatchLimitKnown,
  kBatchLimit,
  kTriggerValue,
  kTriggerReplicas,
  kDirectionChanges
};

struct FamilyRow {
  absl::string_view name;
  absl::string_view help;
};

constexpr FamilyRow kFamilies[] = {
    {"demand_replicas",
     "Requests that arrive at a workload's engines, in replicas that they need (docs/demand.md). "
     "Missing while it is not known."},
    {"demand_known",
     "1: the demand is known; 0: it is not, and the pressure counts, as where nothing bounds the "
     "batch: set maxConcurrency or tpotSloMs."},
    {"demand_counts", "1: the demand is the value that KEDA gets."},
    {"latency_replicas",
     "Replicas that late first tokens request (ttftSloMs; docs/demand.md). Missing while they "
     "request none. With demand: observe they change no value."},
    {"demand_arrivals_per_second", "Requests that arrive at a workload's engines."},
    {"replica_capacity_requests_per_second",
     "Requests that one replica on a GPU model serves, as planned."},
    {"batch_limit_known",
     "1: each engine's requests are measured against a limit, its own, maxConcurrency or the "
     "learnt one; 0: one has none, and its pressure is its KV cache and what waits: set "
     "maxConcurrency. Missing while no pressure is read."},
    {"batch_limit_requests",
     "Requests that an engine without a limit of its own runs at once, learnt from full batches. "
     "Missing with maxConcurrency."},
    {"trigger_value", "The value that KEDA gets for the trigger."},
    {"trigger_replicas",
     "Replicas of the trigger's workload, starting ones too and terminating ones not."},
    {"trigger_direction_changes_total",
     "How often the replicas fell after they grew, or grew after they fell."}};
static_assert(std::size(kFamilies) == kDirectionChanges + 1);

std::vector<MetricFamily> NewFamilies() {
  std::vector<MetricFamily> families;
  for (const FamilyRow& row : kFamilies) {
    const bool is_counter = families.size() == kDirectionChanges;
    families.push_back(
        NewFamily(row.name, row.help,
                  is_counter ? prometheus::MetricType::Counter : prometheus::MetricType::Gauge));
  }
  return families;
}

}  // namespace

void TriggerMetrics::Update(const TriggerLabels& labels, const Decision& decision,
                            bool computes_demand) {
  MutexLock lock(mutex_);
  if (triggers_.size() >= kMaxTriggers && !triggers_.contains(labels)) {
    std::erase_if(triggers_, [&](const auto& trigger) {
      return decision.taken_at - trigger.second.decided_at > kExpireAfter;
    });
    if (triggers_.size() >= kMaxTriggers) return;
  }
  Entry& entry = triggers_[labels];
  entry.decided_at = decision.taken_at;
  if (decision.status.ok()) UpdateValue(decision, entry);
  entry.demand = {};
  if (!computes_demand || (!decision.demand && !decision.batch_limit_known)) return;
  entry.demand = {.demand = decision.demand,
                  .counts = decision.by_demand,
                  .latency = decision.latency,
                  .batch_limit = decision.batch_limit,
                  .batch_limit_known = decision.batch_limit_known};
}

void TriggerMetrics::UpdateValue(const Decision& decision, Entry& entry) {
  const int replicas = decision.replicas + decision.starting;
  const bool is_first = entry.valued_at == absl::InfinitePast();
  if (!is_first && replicas != entry.replicas) {
    const int direction = replicas > entry.replicas ? 1 : -1;
    if (direction == -entry.direction) ++entry.direction_changes;
    entry.direction = direction;
  }
  entry.valued_at = decision.taken_at;
  entry.value = decision.value;
  entry.replicas = replicas;
}

std::vector<MetricFamily> TriggerMetrics::Families(absl::Time now) const {
  std::vector<MetricFamily> families = NewFamilies();
  MutexLock lock(mutex_);
  for (const auto& [trigger, entry] : triggers_) {
    if (now - entry.decided_at > kExpireAfter) continue;
    const std::vector<ClientMetric::Label> labels = {{"namespace", trigger.namespace_name},
                                                     {"scaledobject", trigger.scaled_object},
                                                     {"metric", trigger.metric}};
    const auto add = [&](TriggerFamily family, double value) {
      AddValue(families[family], value, labels);
    };
    if (now - entry.valued_at <= kExpireAfter) {
      add(kTriggerValue, entry.value);
      add(kTriggerReplicas, entry.replicas);
      add(kDirectionChanges, entry.direction_changes);
    }
    const DemandSeries& series = entry.demand;
    if (series.batch_limit_known) add(kBatchLimitKnown, *series.batch_limit_known ? 1 : 0);
    if (series.batch_limit) add(kBatchLimit, *series.batch_limit);
    if (series.latency) add(kLatencyReplicas, series.latency->replicas);
    if (!series.demand) continue;
    const Demand& demand = *series.demand;
    add(kDemandKnown, demand.replicas ? 1 : 0);
    add(kDemandCounts, series.counts ? 1 : 0);
    add(kDemandArrivals, demand.arrivals_per_second);
    if (demand.replicas) add(kDemandReplicas, *demand.replicas);
    for (const ReplicaCapacity& one : demand.capacities) {
      std::vector<ClientMetric::Label> of_model = labels;
      of_model.push_back({"gpu_model", one.gpu_model});
      AddValue(families[kReplicaCapacity], one.requests_per_second, of_model);
    }
  }
  std::erase_if(families, [](const MetricFamily& family) { return family.metric.empty(); });
  return families;
}

}  // namespace gpuscaler
