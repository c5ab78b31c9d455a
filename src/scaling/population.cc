#include "scaling/population.h"

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

std::string UnheardText(const FleetHistory& fleet) {
  const size_t more = fleet.unheard_count - fleet.unheard.size();
  return absl::StrCat(CountText(static_cast<int64_t>(fleet.unheard_count), "agent"),
                      " not heard yet: ", absl::StrJoin(fleet.unheard, ", "),
                      more > 0 ? absl::StrCat(" and ", more, " more") : "");
}

// What may hide a replica where none is seen: unknown is never zero.
absl::Status Unseen(const FleetHistory& fleet, bool by_owner) {
  for (const NodeTrack& track : fleet.nodes) {
    if (!by_owner || track.history->attributed != nullptr) continue;
    return absl::UnavailableError(WhyOwnersUnknown(track));
  }
  return absl::OkStatus();
}

}  // namespace

bool IsByOwner(const Trigger& trigger, const FleetHistory& fleet) {
  return trigger.scope == Scope::kWorkload && !NobodyKnowsOwners(fleet);
}

std::vector<std::string> MissingParts(const Trigger& trigger, const FleetHistory& fleet,
                                      const Patience& patience) {
  std::vector<std::string> missing;
  const bool by_owner = IsByOwner(trigger, fleet);
  for (const NodeTrack& track : fleet.nodes) {
    std::string why = WhyMute(track, fleet.now, patience);
    if (why.empty() && by_owner) why = WhyOwnersUnknown(track);
    if (!why.empty()) missing.push_back(std::move(why));
    if (track.twice.empty()) continue;
    missing.push_back(absl::StrCat("two agents are of node ", track.node, ": ", track.twice));
  }
  if (fleet.unheard_count > 0) missing.push_back(UnheardText(fleet));
  return missing;
}

absl::StatusOr<Population> PopulationOf(const Trigger& trigger, const Asker& asker,
                                        const FleetHistory& fleet, const SignalHistory* signals,
                                        const Patience& patience) {
  const bool of_workload = trigger.scope == Scope::kWorkload;
  const bool names_owner = !trigger.workload.empty() || trigger.pod_regex != nullptr;
  const bool by_owner = IsByOwner(trigger, fleet);
  if (of_workload && names_owner && !by_owner) return NoOwners();
  Population population;
  if (by_owner) {
    ASSIGN_OR_RETURN(population, ReplicasOfPods(trigger, asker, fleet, patience));
  } else if (!ReadsEngines(trigger)) {
    ASSIGN_OR_RETURN(population, ReplicasInUse(trigger, fleet, patience));
  } else if (of_workload && signals != nullptr && AnyStands(trigger, *signals, fleet.now)) {
    // Its replicas are its engines: GPUs tell which are frozen, and where they cannot, none is.
    absl::StatusOr<Population> in_use = ReplicasInUse(trigger, fleet, patience);
    if (in_use.ok()) population.replicas = std::move(in_use->replicas);
  }
  if (ReadsEngines(trigger) || ReadsPressure(trigger)) {
    RETURN_IF_ERROR(ReadEnginesOf(trigger, asker, fleet, by_owner, signals, patience, population));
  }
  const bool none_seen = std::ranges::none_of(population.replicas, &Replica::present);
  if (none_seen && population.unseen.ok()) population.unseen = Unseen(fleet, by_owner);
  return population;
}

}  // namespace gpuscaler
