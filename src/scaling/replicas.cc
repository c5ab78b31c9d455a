#include "scaling/replicas.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/number_text.h"
#include "base/status_macros.h"
#include "scaling/engine_replicas.h"
#include "scaling/frozen_engine.h"
#include "scaling/gpu_blocks.h"
#include "scaling/pod_replicas.h"
#include "trigger/trigger_source.h"

namespace gpuscaler {
namespace {

// Returns true if no node asks its kubelet which pods hold GPUs. A fleet without nodes is not such
// a case.
bool OwnersAreUnknown(const FleetHistory& fleet) {
  return !fleet.nodes.empty() && !fleet.queries_kubelets;
}

absl::Status NoOwnersError() {
  return absl::FailedPreconditionError(
      "workload and podRegex need the holders of GPUs, and no agent queries its kubelet; "
      "without these keys each GPU in use is a replica");
}

std::string UnreachedText(const FleetHistory& fleet) {
  const size_t named = fleet.unreached.size();
  return absl::StrCat(
      CountText(static_cast<int64_t>(fleet.unreached_count), "agent"),
      " not connected yet: ", ListText(fleet.unreached, named, fleet.unreached_count - named));
}

// Returns what may hide a replica if none is present: unknown is never zero.
absl::Status ZeroStatusOf(const FleetHistory& fleet, bool by_owner) {
  for (const NodeState& state : fleet.nodes) {
    if (!by_owner || state.history->attributed != nullptr) continue;
    return absl::UnavailableError(WhyOwnersUnknown(state));
  }
  return absl::OkStatus();
}

// A start ends when memory is loaded, if the readiness of the replica is not known.
void EndStartsByMemory(std::vector<Replica>& replicas) {
  for (Replica& replica : replicas) {
    if (replica.by_engine || replica.loaded_at >= replica.started_at) continue;
    replica.started_at = replica.loaded_at;
    replica.counted_since = std::max(replica.held_since, replica.started_at);
  }
}

}  // namespace

bool IsByOwner(const Trigger& trigger, const FleetHistory& fleet) {
  return trigger.scope == Scope::kWorkload && !OwnersAreUnknown(fleet);
}

std::vector<std::string> MissingParts(const DecisionInputs& inputs) {
  const FleetHistory& fleet = inputs.fleet;
  std::vector<std::string> missing;
  const bool by_owner = IsByOwner(inputs.trigger, fleet);
  for (const NodeState& state : fleet.nodes) {
    std::string why = WhyStale(state, fleet.now, inputs.staleness);
    if (why.empty() && by_owner) why = WhyOwnersUnknown(state);
    if (!why.empty()) missing.push_back(std::move(why));
  }
  if (fleet.unreached_count > 0) missing.push_back(UnreachedText(fleet));
  return missing;
}

absl::StatusOr<Replicas> ReplicasOf(const DecisionInputs& inputs, absl::Time oldest) {
  const Trigger& trigger = inputs.trigger;
  const bool of_workload = trigger.scope == Scope::kWorkload;
  const bool names_owner = !trigger.workload.empty() || trigger.pod_regex != nullptr;
  const bool by_owner = IsByOwner(trigger, inputs.fleet);
  if (of_workload && names_owner && !by_owner) return NoOwnersError();
  Replicas workload_replicas;
  if (by_owner) {
    ASSIGN_OR_RETURN(workload_replicas, ReplicasOfPods(inputs, oldest));
  } else if (!ReadsEngines(trigger)) {
    ASSIGN_OR_RETURN(workload_replicas, ReplicasInUse(inputs));
  } else if (of_workload && inputs.signals != nullptr &&
             AnyStalled(trigger, *inputs.signals, inputs.fleet.now)) {
    // Engines are the replicas here. GPUs only show which are frozen; if they cannot, none is.
    absl::StatusOr<Replicas> in_use = ReplicasInUse(inputs);
    if (in_use.ok()) workload_replicas.replicas = std::move(in_use->replicas);
  }
  workload_replicas.oldest = oldest;
  workload_replicas.held = HeldRequestsOf(inputs);
  if (ReadsEngines(trigger) || ReadsPressure(trigger)) {
    RETURN_IF_ERROR(ApplyEngineReadings(inputs, workload_replicas));
  }
  EndStartsByMemory(workload_replicas.replicas);
  workload_replicas.changes_at =
      std::min(workload_replicas.changes_at, workload_replicas.held.changes_at);
  const bool none_seen = std::ranges::none_of(workload_replicas.replicas, &Replica::present);
  if (none_seen && workload_replicas.zero_status.ok())
    workload_replicas.zero_status = ZeroStatusOf(inputs.fleet, by_owner);
  return workload_replicas;
}

}  // namespace gpuscaler
