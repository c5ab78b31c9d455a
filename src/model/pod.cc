#include "model/pod.h"

#include <algorithm>

namespace gpuscaler {

std::vector<std::string> OwnerNames(const Pod& pod) {
  std::vector<std::string> names;
  for (const PodOwner& owner : pod.owners) {
    if (std::ranges::find(names, owner.name) == names.end()) names.push_back(owner.name);
  }
  if (names.empty()) names.push_back(pod.name);
  return names;
}

bool HasUnresolvedOwner(const Pod& pod) {
  if (pod.owners_from == Pod::OwnersFrom::kName) return pod.owners.empty();
  return pod.owners.size() == 1 && pod.owners.front().kind == "ReplicaSet";
}

bool IsAmbiguous(const Pod& pod) {
  return pod.owners_from == Pod::OwnersFrom::kName &&
         std::ranges::any_of(pod.owners, [&](const PodOwner& owner) {
           return owner.name != pod.owners.front().name;
         });
}

bool HaveSameHolders(const std::vector<GpuHolder>& a, const std::vector<GpuHolder>& b) {
  return std::ranges::equal(a, b, [](const GpuHolder& one, const GpuHolder& other) {
    return one.pod == other.pod && one.container == other.container &&
           one.is_possible == other.is_possible;
  });
}

}  // namespace gpuscaler
