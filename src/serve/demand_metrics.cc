#include "serve/demand_metrics.h"

#include <optional>
#include <utility>

#include "page/metric_family.h"

namespace gpuscaler {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;

constexpr absl::Duration kExpireAfter = absl::Minutes(15);

MetricFamily GaugeFamily(absl::string_view name, absl::string_view help) {
  return NewFamily(name, help, prometheus::MetricType::Gauge);
}

std::vector<ClientMetric::Label> LabelsOf(const DemandLabels& labels) {
  return {{"namespace", labels.namespace_name},
          {"scaledobject", labels.scaled_object},
          {"metric", labels.metric}};
}

}  // namespace

void DemandMetrics::Update(const DemandLabels& labels, const Decision& decision) {
  MutexLock lock(mutex_);
  if (!decision.demand.has_value() && !decision.batch_limit_known.has_value()) {
    triggers_.erase(labels);
    return;
  }
  if (triggers_.size() >= kMaxTriggers && !triggers_.contains(labels)) {
    std::erase_if(triggers_, [&](const auto& trigger) {
      return decision.taken_at - trigger.second.at > kExpireAfter;
    });
    if (triggers_.size() >= kMaxTriggers) return;
  }
  triggers_[labels] = {.at = decision.taken_at,
                       .demand = decision.demand,
                       .counts = decision.by_demand,
                       .latency = decision.latency,
                       .batch_limit = decision.batch_limit,
                       .batch_limit_known = decision.batch_limit_known};
}

std::vector<MetricFamily> DemandMetrics::Families(absl::Time now) const {
  MetricFamily replicas =
      GaugeFamily("demand_replicas",
                  "Requests that arrive at a workload's engines, in replicas that they need "
                  "(docs/demand.md). Missing while it is not known.");
  MetricFamily known =
      GaugeFamily("demand_known",
                  "1: the demand is known; 0: it is not, and the pressure counts, as where "
                  "nothing bounds the batch: set maxConcurrency or tpotSloMs.");
  MetricFamily counts = GaugeFamily("demand_counts", "1: the demand is the value that KEDA gets.");
  MetricFamily latency =
      GaugeFamily("latency_replicas",
                  "Replicas that late first tokens ask for (ttftSloMs; docs/demand.md). Missing "
                  "while they ask for none. With demand: observe they change no value.");
  MetricFamily arrivals =
      GaugeFamily("demand_arrivals_per_second", "Requests that arrive at a workload's engines.");
  MetricFamily capacity =
      GaugeFamily("replica_capacity_requests_per_second",
                  "Requests that one replica on a GPU model serves, as planned.");
  MetricFamily limit = GaugeFamily(
      "batch_limit_requests",
      "Requests that an engine without a limit of its own runs at once, learnt from full batches.");
  MetricFamily limit_known =
      GaugeFamily("batch_limit_known",
                  "1: each engine's requests are measured against a limit, its own, maxConcurrency "
                  "or the learnt one; 0: one has none, and its pressure is its KV cache and what "
                  "waits: set maxConcurrency. Missing while no pressure is read.");
  MutexLock lock(mutex_);
  for (const auto& [trigger, entry] : triggers_) {
    if (now - entry.at > kExpireAfter) continue;
    const std::vector<ClientMetric::Label> labels = LabelsOf(trigger);
    if (entry.batch_limit_known.has_value()) {
      AddValue(limit_known, *entry.batch_limit_known ? 1 : 0, labels);
    }
    if (entry.batch_limit.has_value()) AddValue(limit, *entry.batch_limit, labels);
    if (entry.latency.has_value()) AddValue(latency, entry.latency->replicas, labels);
    if (!entry.demand.has_value()) continue;
    const Demand& demand = *entry.demand;
    AddValue(known, demand.replicas.has_value() ? 1 : 0, labels);
    AddValue(counts, entry.counts ? 1 : 0, labels);
    AddValue(arrivals, demand.arrivals_per_second, labels);
    if (demand.replicas.has_value()) AddValue(replicas, *demand.replicas, labels);
    for (const ReplicaCapacity& one : demand.capacities) {
      std::vector<ClientMetric::Label> of_model = labels;
      of_model.push_back({"gpu_model", one.gpu_model});
      AddValue(capacity, one.requests_per_second, of_model);
    }
  }
  std::vector<MetricFamily> families;
  for (MetricFamily* const family :
       {&replicas, &known, &counts, &latency, &arrivals, &capacity, &limit_known, &limit}) {
    if (!family->metric.empty()) families.push_back(std::move(*family));
  }
  return families;
}

}  // namespace gpuscaler
