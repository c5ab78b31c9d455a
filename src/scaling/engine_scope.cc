#include "scaling/engine_scope.h"

#include "absl/status/statusor.h"

namespace gpuscaler {
namespace {

std::vector<const SignalSeries*> RecordsOf(const EngineScope& scope) {
  std::vector<const SignalSeries*> records;
  const CapacityRecords& all = scope.signals.capacity_records;
  if (all.empty()) return records;
  if (!scope.by_owner || scope.endpoint_is_named) {
    for (const auto& record : all) records.push_back(record.get());
    return records;
  }
  PodsWithGpus seen;
  for (const Replica& replica : scope.workload_replicas.replicas) {
    seen.holding.insert(seen.holding.end(), replica.pods.begin(), replica.pods.end());
  }
  for (const auto& record : all) seen.past.push_back(record->pod_with_owners.get());
  const absl::StatusOr<PodSelection> selection =
      SelectPods(scope.trigger, scope.scaled_object, seen);
  if (!selection.ok()) return records;
  for (const auto& record : all) {
    if (selection->Has(*record->pod_with_owners)) records.push_back(record.get());
  }
  return records;
}

}  // namespace

EngineScope::EngineScope(const Trigger& trigger, const ScaledObjectRef& scaled_object,
                         const FleetHistory& fleet, bool by_owner, const SignalHistory& signals,
                         const StalenessLimits& staleness, const Replicas& workload_replicas)
    : trigger(trigger),
      scaled_object(scaled_object),
      fleet(fleet),
      now(fleet.now),
      by_owner(by_owner),
      endpoint_is_named(!trigger.engine_endpoint.url.empty()),
      signals(signals),
      staleness(staleness),
      workload_replicas(workload_replicas),
      owners(trigger, fleet, by_owner, signals, workload_replicas.replicas),
      records(RecordsOf(*this)) {}

}  // namespace gpuscaler
