#include "workload/monitoring_claims.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "workload/device_id.h"

namespace gpuscaler {
namespace {

bool HasOwnerOfKind(const Pod& pod, const char* kind) {
  return std::ranges::find(pod.owners, kind, &PodOwner::kind) != pod.owners.end();
}

}  // namespace

MonitoringClaims::MonitoringClaims(absl::Span<const NodePod> pods,
                                   absl::Span<const GpuSample> gpus) {
  size_t divided = 0;
  for (const GpuSample& gpu : gpus) {
    if (IsMig(gpu)) continue;
    ++all_gpus_;
    if (IsDivided(gpu, gpus)) ++divided;
  }
  const bool any_whole = divided < all_gpus_;
  if (any_whole) all_gpus_ -= divided;
  for (const NodePod& pod : pods) {
    std::set<std::string> claims;
    std::set<std::string> claimed;
    for (const PodDevice& device : pod.devices) {
      const auto id = ParseDeviceId(device.resource, device.id);
      if (device.claim.empty() || !id) continue;
      claims.insert(device.claim);
      if (any_whole && IsOfInstance(*id)) continue;
      claimed.insert(id->minor_number ? absl::StrCat(*id->minor_number) : id->text);
    }
    for (const std::string& claim : claims) gpus_[claim].insert(claimed.begin(), claimed.end());
  }
}

bool MonitoringClaims::IsMonitoring(const Pod& pod, const std::string& claim) const {
  return pod.owners_from == Pod::OwnersFrom::kReferences && MayBeMonitoring(pod, claim);
}

bool MonitoringClaims::MayBeMonitoring(const Pod& pod, const std::string& claim) const {
  return HasAllGpus(claim) && HasOwnerOfKind(pod, "DaemonSet");
}

bool MonitoringClaims::HasAllGpus(const std::string& claim) const {
  return all_gpus_ > 0 && SizeOf(claim) >= all_gpus_;
}

std::set<std::string> MonitoringClaims::Smallest(const std::set<std::string>& claims) const {
  size_t least = SizeOf(*claims.begin());
  for (const std::string& claim : claims) least = std::min(least, SizeOf(claim));
  std::set<std::string> smallest;
  for (const std::string& claim : claims) {
    if (SizeOf(claim) == least) smallest.insert(claim);
  }
  return smallest;
}

size_t MonitoringClaims::SizeOf(const std::string& claim) const {
  const auto found = gpus_.find(claim);
  return found == gpus_.end() ? 0 : found->second.size();
}

}  // namespace gpuscaler
