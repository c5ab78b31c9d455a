#include "workload/owner_listings.h"

#include <algorithm>
#include <utility>

namespace gpuscaler {

void OwnerListings::Update(std::vector<PodAllocation>& pods, absl::Time now) {
  for (auto& [owner, listing] : owners_) listing.gone_at = std::min(listing.gone_at, now);
  std::erase_if(owners_,
                [now](const auto& entry) { return now - entry.second.gone_at > kOwnerGrace; });
  for (const PodAllocation& node_pod : pods) {
    const Pod& pod = node_pod.pod;
    if (!pod.listed_since) continue;
    for (const PodOwner& owner : pod.owners) {
      Listing& listing =
          owners_
              .try_emplace({pod.namespace_name, owner.kind, owner.name}, Listing{*pod.listed_since})
              .first->second;
      listing.since = std::min(listing.since, *pod.listed_since);
      listing.gone_at = absl::InfiniteFuture();
    }
  }
  ForgetEarliest();
  for (PodAllocation& node_pod : pods) {
    Pod& pod = node_pod.pod;
    pod.owner_listed_since.reset();
    for (const PodOwner& owner : pod.owners) {
      const auto found = owners_.find({pod.namespace_name, owner.kind, owner.name});
      if (found == owners_.end()) continue;
      pod.owner_listed_since =
          std::min(pod.owner_listed_since.value_or(absl::InfiniteFuture()), found->second.since);
    }
  }
}

void OwnerListings::Add(const std::vector<Pod>& former, absl::Time now) {
  for (const Pod& pod : former) {
    if (!pod.owner_listed_since) continue;
    for (const PodOwner& owner : pod.owners) {
      const Listing gone = {.since = *pod.owner_listed_since, .gone_at = now};
      const auto entry =
          owners_.try_emplace({pod.namespace_name, owner.kind, owner.name}, gone).first;
      entry->second.since = std::min(entry->second.since, gone.since);
    }
  }
  ForgetEarliest();
}

void OwnerListings::ForgetEarliest() {
  while (owners_.size() > kMaxOwners) {
    const auto earliest = std::ranges::min_element(
        owners_, {}, [](const auto& entry) { return entry.second.gone_at; });
    if (earliest->second.gone_at == absl::InfiniteFuture()) return;
    owners_.erase(earliest);
  }
}

}  // namespace gpuscaler
