#include "scaling/replica_room.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/number_text.h"
#include "model/free_gpus.h"
#include "scaling/hpa.h"

namespace gpuscaler {
namespace {

int CountGpus(const ReplicaNeed& need) {
  return std::accumulate(need.pods.begin(), need.pods.end(), 0);
}

int PresentReplicas(const Decision& decision) {
  return decision.replicas + decision.starting + static_cast<int>(decision.unstarted.size());
}

int MoreReplicas(const Trigger& trigger, const Decision& decision) {
  if (!decision.status.ok()) return 0;
  const HpaOptions hpa{.target_type = trigger.target_type, .target = trigger.target};
  const int present = PresentReplicas(decision);
  return ProposeReplicas(hpa, present, decision.replicas, decision.value) - present;
}

bool IsPresent(const Contribution& contribution) {
  return contribution.state == Contribution::State::kCounted ||
         contribution.state == Contribution::State::kUnreadable ||
         contribution.state == Contribution::State::kStarting;
}

using PodsByGpu = std::map<std::string, WholeGpus>;  // key: UUID

// Returns nothing if the replica holds parts of GPUs, or GPUs of which no pod is known.
std::optional<ReplicaNeed> NeedOf(const Contribution& contribution, const PodsByGpu& pods) {
  ReplicaNeed need{.linked = true};
  std::set<std::string> left(contribution.gpus.begin(), contribution.gpus.end());
  bool has_several = false;
  while (!left.empty()) {
    const auto pod = pods.find(*left.begin());
    if (pod == pods.end()) return std::nullopt;
    for (const std::string& uuid : pod->second.uuids) left.erase(uuid);
    const auto gpus = static_cast<int>(pod->second.uuids.size());
    need.pods.push_back(gpus);
    if (gpus > 1) need.linked = need.linked && pod->second.are_linked;
    has_several = has_several || gpus > 1;
  }
  need.linked = need.linked && has_several;
  return need.pods.empty() ? std::nullopt : std::optional(need);
}

// Returns the least that a replica of the workload needs, so that no room is denied that there is.
std::optional<ReplicaNeed> SmallestNeed(const Decision& decision, const FleetHistory& fleet) {
  std::set<std::string> nodes;
  for (const Contribution& contribution : decision.contributions) {
    if (IsPresent(contribution)) nodes.insert(contribution.nodes.begin(), contribution.nodes.end());
  }
  PodsByGpu pods;
  for (const NodeState& state : fleet.nodes) {
    if (!nodes.contains(state.node)) continue;
    for (const WholeGpus& pod : WholeGpusOfPods(state.history->Newest())) {
      for (const std::string& uuid : pod.uuids) pods.emplace(uuid, pod);
    }
  }
  std::optional<ReplicaNeed> smallest;
  bool linked = true;
  for (const Contribution& contribution : decision.contributions) {
    if (!IsPresent(contribution) || contribution.gpus.empty()) continue;
    std::optional<ReplicaNeed> need = NeedOf(contribution, pods);
    if (!need) return std::nullopt;
    linked = linked && need->linked;
    if (!smallest || CountGpus(*need) < CountGpus(*smallest)) smallest = std::move(need);
  }
  if (smallest) smallest->linked = linked;
  return smallest;
}

// As "4 linked GPUs", "2 pods with 8 GPUs" or "12 GPUs in 2 pods".
std::string NeedText(const ReplicaNeed& need) {
  const char* const kind = need.linked ? "linked GPU" : "GPU";
  if (need.pods.size() == 1) return CountText(need.pods.front(), kind);
  const bool alike = std::ranges::min(need.pods) == std::ranges::max(need.pods);
  return alike ? absl::StrCat(need.pods.size(), " pods with ", CountText(need.pods.front(), kind))
               : absl::StrCat(CountText(CountGpus(need), "GPU"), " in ", need.pods.size(), " pods");
}

}  // namespace

bool AsksForMoreReplicas(const Trigger& trigger, const Decision& decision) {
  return MoreReplicas(trigger, decision) > 0;
}

std::string WhyNoRoom(const Trigger& trigger, const Decision& decision, const FleetHistory& fleet,
                      const StalenessLimits& staleness) {
  const int more = MoreReplicas(trigger, decision);
  if (more <= 0) return "";
  const std::optional<ReplicaNeed> need = SmallestNeed(decision, fleet);
  if (!need) return "";
  FreeGpus free;
  for (const NodeState& state : fleet.nodes) {
    const NodeSnapshot& newest = state.history->Newest();
    WhyStale(state, fleet.now, staleness).empty() ? free.Add(newest) : free.AddUnknown(newest);
  }
  const int room = RoomFor(*need, free);
  if (room >= more || free.groups.empty()) return "";
  const std::string verb = more == 1 ? " is" : " are";
  std::string why =
      absl::StrCat(CountText(more, "more replica"), " of ", NeedText(*need), verb,
                   " requested, and there is room for ", room, ": ", FreeText(free, need->linked));
  if (free.unknown > 0) {
    absl::StrAppend(&why, "; unknown whether ", CountText(free.unknown, "more GPU"),
                    free.unknown == 1 ? " is free" : " are free");
  }
  return why;
}

}  // namespace gpuscaler
