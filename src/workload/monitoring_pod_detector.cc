#include "workload/monitoring_pod_detector.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "workload/device_id.h"

namespace gpuscaler {
namespace {

bool HasOwnerOfKind(const Pod& pod, const char* kind) {
  return std::ranges::find(pod.owners, kind, &PodOwner::kind) != pod.owners.end();
}

}  // namespace

MonitoringPodDetector::MonitoringPodDetector(absl::Span<const PodAllocation> pods,
                                             absl::Span<const GpuSample> all)
    : nvidia_(GpuVendor::kNvidia, pods, all), amd_(GpuVendor::kAmd, pods, all) {}

MonitoringPodDetector::Vendor::Vendor(GpuVendor vendor, absl::Span<const PodAllocation> pods,
                                      absl::Span<const GpuSample> all) {
  size_t divided = 0;
  for (const GpuSample& gpu : all) {
    if (IsMig(gpu) || VendorOf(gpu) != vendor) continue;
    ++all_gpus;
    if (IsInMigMode(gpu, all)) ++divided;
  }
  const bool any_whole = divided < all_gpus;
  if (any_whole) all_gpus -= divided;
  for (const PodAllocation& pod : pods) {
    std::set<std::string> claims;
    std::set<std::string> claimed;
    for (const PodDevice& device : pod.devices) {
      const auto id = ParseDeviceId(device.resource, device.id);
      if (device.claim.empty() || !id || VendorOf(*id) != vendor) continue;
      claims.insert(device.claim);
      if (any_whole && IsMigInstance(*id)) continue;
      claimed.insert(id->minor_number ? absl::StrCat(*id->minor_number) : id->text);
    }
    for (const std::string& claim : claims) gpus[claim].insert(claimed.begin(), claimed.end());
  }
}

bool MonitoringPodDetector::IsMonitoring(const Pod& pod, const PodDevice& device) const {
  return pod.owners_from == Pod::OwnersFrom::kReferences && HasOwnerOfKind(pod, "DaemonSet") &&
         MayBeMonitoring(pod, device);
}

bool MonitoringPodDetector::MayBeMonitoring(const Pod& pod, const PodDevice& device) const {
  const bool has_no_owner = pod.owners_from == Pod::OwnersFrom::kReferences && pod.owners.empty();
  return !device.is_held && HasAllGpus(device.claim) &&
         (has_no_owner || HasOwnerOfKind(pod, "DaemonSet"));
}

bool MonitoringPodDetector::HasAllGpus(const std::string& claim) const {
  return HasAllGpus(nvidia_, claim) || HasAllGpus(amd_, claim);
}

bool MonitoringPodDetector::HasAllGpus(const Vendor& vendor, const std::string& claim) {
  const auto found = vendor.gpus.find(claim);
  return vendor.all_gpus > 0 && found != vendor.gpus.end() &&
         found->second.size() >= vendor.all_gpus;
}

}  // namespace gpuscaler
