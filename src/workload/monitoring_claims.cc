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
  whole_gpus_ = static_cast<size_t>(
      std::ranges::count_if(gpus, [](const GpuSample& gpu) { return !IsMig(gpu); }));
  for (const NodePod& pod : pods) {
    for (const PodDevice& device : pod.devices) {
      const auto id = ParseDeviceId(device.resource, device.id);
      if (device.claim.empty() || !id) continue;
      gpus_[device.claim].insert(id->minor_number ? absl::StrCat(*id->minor_number) : id->text);
    }
  }
}

bool MonitoringClaims::IsMonitoring(const Pod& pod, const std::string& claim) const {
  return pod.owners_from == Pod::OwnersFrom::kReferences && MayBeMonitoring(pod, claim);
}

bool MonitoringClaims::MayBeMonitoring(const Pod& pod, const std::string& claim) const {
  return HasAllGpus(claim) && HasOwnerOfKind(pod, "DaemonSet");
}

bool MonitoringClaims::HasAllGpus(const std::string& claim) const {
  return whole_gpus_ > 0 && SizeOf(claim) >= whole_gpus_;
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
