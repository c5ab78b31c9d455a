#include "scaling/engine_scope.h"

#include "absl/status/statusor.h"

namespace gpuscaler {

std::vector<const SignalSeries*> EngineScope::Records() const {
  std::vector<const SignalSeries*> found;
  const CapacityRecords& all = signals.capacity_records;
  if (all.empty()) return found;
  if (!by_owner || endpoint_is_named) {
    for (const auto& record : all) found.push_back(record.get());
    return found;
  }
  PodsWithGpus seen;
  for (const Replica& replica : workload_replicas.replicas) {
    seen.holding.insert(seen.holding.end(), replica.pods.begin(), replica.pods.end());
  }
  for (const auto& record : all) seen.past.push_back(record->pod_with_owners.get());
  const absl::StatusOr<PodSelection> selection = SelectPods(trigger, inputs.scaled_object, seen);
  if (!selection.ok()) return found;
  for (const auto& record : all) {
    if (selection->Has(*record->pod_with_owners)) found.push_back(record.get());
  }
  return found;
}

}  // namespace gpuscaler
