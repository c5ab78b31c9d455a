#include "scaling/replicas.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/number_text.h"
#include "base/status_macros.h"
#include "scaling/engine_replicas.h"
#include "scaling/frozen_engine.h"
#include "scaling/gpu_blocks.h"
#include "scaling/pod_replicas.h"
#include "trigger/trigger_source.h"

namespace gpuscaler {
namespace {

// On no node is the kubelet asked who holds what. (Without any node nobody is asked for it.)
bool NobodyKnowsOwners(const FleetHistory& fleet) {
  return !fleet.nodes.empty() && !fleet.asks_kubelets;
}

absl::Status NoOwners() {
  return absl::FailedPreconditionError(
      "workload and podRegex need to know who holds a GPU, and no kubelet is asked who does; "
      "without these keys a GPU in use is a replica");
}

std::string UnreachedText(const FleetHistory& fleet) {
  const size_t more = fleet.unreached_count - fleet.unreached.size();
  return absl::StrCat(CountText(static_cast<int64_t>(fleet.unreached_count), "agent"),
                      " not heard yet: ", absl::StrJoin(fleet.unreached, ", "),
                      more > 0 ? absl::StrCat(" and ", more, " more") : "");
}

// What may hide a replica where none is seen: unknown is never zero.
absl::Status Unseen(const FleetHistory& fleet, bool by_owner) {
  for (const NodeState& state : fleet.nodes) {
    if (!by_owner || state.history->attributed != nullptr) continue;
    return absl::UnavailableError(WhyOwnersUnknown(state));
  }
  return absl::OkStatus();
}

// Memory that is loaded ends a start if the readiness of the replica is not known.
void EndStartsByMemory(std::vector<Replica>& replicas) {
  for (Replica& replica : replicas) {
    if (replica.by_engine || replica.loaded_at >= replica.warm_at) continue;
    replica.warm_at = replica.loaded_at;
    replica.counted_since = std::max(replica.held_since, replica.warm_at);
  }
}

}  // namespace

bool IsByOwner(const Trigger& trigger, const FleetHistory& fleet) {
  return trigger.scope == Scope::kWorkload && !NobodyKnowsOwners(fleet);
}

std::vector<std::string> MissingParts(const Trigger& trigger, const FleetHistory& fleet,
                                      const StalenessLimits& staleness) {
  std::vector<std::string> missing;
  const bool by_owner = IsByOwner(trigger, fleet);
  for (const NodeState& state : fleet.nodes) {
    std::string why = WhyStale(state, fleet.now, staleness);
    if (why.empty() && by_owner) why = WhyOwnersUnknown(state);
    if (!why.empty()) missing.push_back(std::move(why));
  }
  if (fleet.unreached_count > 0) missing.push_back(UnreachedText(fleet));
  return missing;
}

absl::StatusOr<Replicas> ReplicasOf(const Trigger& trigger, const ScaledObjectRef& scaled_object,
                                    const FleetHistory& fleet, const SignalHistory* signals,
                                    const StalenessLimits& staleness, absl::Time oldest) {
  const bool of_workload = trigger.scope == Scope::kWorkload;
  const bool names_owner = !trigger.workload.empty() || trigger.pod_regex != nullptr;
  const bool by_owner = IsByOwner(trigger, fleet);
  if (of_workload && names_owner && !by_owner) return NoOwners();
  Replicas workload_replicas;
  if (by_owner) {
    ASSIGN_OR_RETURN(workload_replicas,
                     ReplicasOfPods(trigger, scaled_object, fleet, staleness, oldest));
  } else if (!ReadsEngines(trigger)) {
    ASSIGN_OR_RETURN(workload_replicas, ReplicasInUse(trigger, fleet, staleness));
  } else if (of_workload && signals != nullptr && AnyPreallocated(trigger, *signals, fleet.now)) {
    // Its replicas are its engines: GPUs tell which are frozen, and where they cannot, none is.
    absl::StatusOr<Replicas> in_use = ReplicasInUse(trigger, fleet, staleness);
    if (in_use.ok()) workload_replicas.replicas = std::move(in_use->replicas);
  }
  workload_replicas.oldest = oldest;
  workload_replicas.held = HeldRequestsOf(trigger, signals, fleet.now, staleness);
  if (ReadsEngines(trigger) || ReadsPressure(trigger)) {
    RETURN_IF_ERROR(ReadEnginesOf(trigger, scaled_object, fleet, by_owner, signals, staleness,
                                  workload_replicas));
  }
  EndStartsByMemory(workload_replicas.replicas);
  workload_replicas.changes_at =
      std::min(workload_replicas.changes_at, workload_replicas.held.changes_at);
  const bool none_seen = std::ranges::none_of(workload_replicas.replicas, &Replica::present);
  if (none_seen && workload_replicas.unseen.ok())
    workload_replicas.unseen = Unseen(fleet, by_owner);
  return workload_replicas;
}

}  // namespace gpuscaler
