// Since when each owner has had pods on this node, through rollouts and short gaps.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "absl/time/time.h"
#include "workload/gpu_holders.h"

namespace gpuscaler {

// An owner without pods for longer counts as a new one when it has pods again. Covers the Recreate
// strategy, and a pod of a StatefulSet that loads for minutes on another node.
inline constexpr absl::Duration kOwnerGrace = absl::Minutes(15);

// How many owners are kept at most, unless more have pods: Jobs may come every second.
inline constexpr size_t kMaxOwners = 1000;

// Not thread-safe.
class OwnerListings {
 public:
  // Sets `owner_listed_since` of all pods in the kubelet's newest list. If a pod has several
  // owners, or its name fits several, the earliest time counts. Pods without an owner have no time.
  // Time without any list, such as a restart of the kubelet, is no gap.
  void Update(std::vector<PodAllocation>& pods, absl::Time now);

  // Adds `owner_listed_since` of pods that another process listed. The earlier time counts. A new
  // owner counts as if its pods had just gone.
  void Add(const std::vector<Pod>& former, absl::Time now);

 private:
  using Owner = std::tuple<std::string, std::string, std::string>;  // namespace, kind, name
  struct Listing {
    absl::Time since;
    absl::Time gone_at = absl::InfiniteFuture();  // the first list without its pods
  };
  void ForgetEarliest();

  std::map<Owner, Listing> owners_;
};

}  // namespace gpuscaler
