#include "serve/trigger_metrics.h"

#include <utility>

#include "page/metric_family.h"

namespace gpuscaler {
namespace {

using prometheus::MetricFamily;

constexpr absl::Duration kForgetTriggerAfter = absl::Minutes(15);

std::vector<prometheus::ClientMetric::Label> LabelsOfTrigger(const DemandLabels& labels) {
  return {{"namespace", labels.namespace_name},
          {"scaledobject", labels.scaled_object},
          {"metric", labels.metric}};
}

}  // namespace

void TriggerMetrics::Update(const DemandLabels& labels, const Decision& decision) {
  if (!decision.status.ok()) return;
  const int replicas = decision.replicas + decision.warming;
  MutexLock lock(mutex_);
  auto found = triggers_.find(labels);
  if (found == triggers_.end() && triggers_.size() >= kMaxTriggers) {
    std::erase_if(triggers_, [&](const auto& trigger) {
      return decision.taken_at - trigger.second.at > kForgetTriggerAfter;
    });
    if (triggers_.size() >= kMaxTriggers) return;
  }
  if (found == triggers_.end()) {
    found = triggers_.try_emplace(labels, Entry{.at = {}, .replicas = replicas}).first;
  }
  Entry& entry = found->second;
  if (replicas != entry.replicas) {
    const int direction = replicas > entry.replicas ? 1 : -1;
    if (direction == -entry.direction) ++entry.direction_changes;
    entry.direction = direction;
  }
  entry.at = decision.taken_at;
  entry.value = decision.value;
  entry.replicas = replicas;
}

std::vector<MetricFamily> TriggerMetrics::Families(absl::Time now) const {
  MetricFamily value = NewFamily("trigger_value", "The value that KEDA gets for the trigger.",
                                 prometheus::MetricType::Gauge);
  MetricFamily replicas =
      NewFamily("trigger_replicas",
                "Replicas of the trigger's workload, starting ones too and terminating ones not.",
                prometheus::MetricType::Gauge);
  MetricFamily changes = NewFamily("trigger_direction_changes_total",
                                   "How often the replicas fell after they grew, or grew after "
                                   "they fell.",
                                   prometheus::MetricType::Counter);
  MutexLock lock(mutex_);
  for (const auto& [trigger, entry] : triggers_) {
    if (now - entry.at > kForgetTriggerAfter) continue;
    AddValue(value, entry.value, LabelsOfTrigger(trigger));
    AddValue(replicas, entry.replicas, LabelsOfTrigger(trigger));
    AddValue(changes, entry.direction_changes, LabelsOfTrigger(trigger));
  }
  std::vector<MetricFamily> families;
  for (MetricFamily* const family : {&value, &replicas, &changes}) {
    if (!family->metric.empty()) families.push_back(std::move(*family));
  }
  return families;
}

}  // namespace gpuscaler
