#include "gpu/auto_source.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gpu/amd_devices.h"
#include "model/unreadable_gpu.h"

namespace gpuscaler {
namespace {

// NVIDIA's driver for GPUs. Nouveau and vfio-pci have other names.
bool HasNvidiaDriver(const std::string& sysfs_root) {
  std::error_code error;
  return std::filesystem::exists(sysfs_root + "/module/nvidia", error);
}

int IndexAfter(const NodeSnapshot& snapshot) {
  int after = 0;
  for (const GpuSample& gpu : snapshot.gpus) after = std::max(after, gpu.index + 1);
  return after;
}

// AMD's indices follow NVIDIA's, which stay as the driver counts them.
NodeSnapshot Together(NodeSnapshot nvidia, NodeSnapshot amd) {
  const int first = IndexAfter(nvidia);
  nvidia.taken_at = std::max(nvidia.taken_at, amd.taken_at);
  nvidia.source = "nvml+amd";
  if (!amd.driver_version.empty()) {
    absl::StrAppend(&nvidia.driver_version, nvidia.driver_version.empty() ? "" : ", ", "amdgpu ",
                    amd.driver_version);
  }
  for (GpuSample& gpu : amd.gpus.Own()) {
    gpu.index += first;
    nvidia.gpus.push_back(std::move(gpu));
  }
  return nvidia;
}

}  // namespace

AutoSource::AutoSource(std::unique_ptr<GpuSource> nvidia, std::unique_ptr<GpuSource> amd,
                       std::string sysfs_root)
    : sysfs_root_(std::move(sysfs_root)),
      nvidia_{.source = std::move(nvidia)},
      amd_{.source = std::move(amd)} {}

absl::StatusOr<NodeSnapshot> AutoSource::Read(const CostlyReadings& wanted) {
  ReadVendor(wanted, nvidia_);
  if (!amd_.was_read && !HasAmdGpus(sysfs_root_)) return nvidia_.now;
  ReadVendor(wanted, amd_);
  if (!nvidia_.was_read) {
    if (!HasNvidiaDriver(sysfs_root_)) return amd_.now;
    return absl::UnavailableError(absl::StrCat(
        "NVIDIA's driver is loaded, but its GPUs cannot be read: ", nvidia_.now.status().message(),
        "; --gpu-source amd reads AMD's alone"));
  }
  if (!amd_.was_read) return amd_.now;
  if (!nvidia_.now.ok() && !amd_.now.ok()) return nvidia_.now;
  return Together(WithUnreadable(nvidia_, wanted), WithUnreadable(amd_, wanted));
}

void AutoSource::ReadVendor(const CostlyReadings& wanted, Vendor& vendor) {
  vendor.now = vendor.source->Read(wanted);
  if (!vendor.now.ok()) return;
  vendor.was_read = true;
  vendor.last = *vendor.now;
}

NodeSnapshot AutoSource::WithUnreadable(const Vendor& vendor, const CostlyReadings& wanted) {
  if (vendor.now.ok()) return *vendor.now;
  NodeSnapshot snapshot = vendor.last;
  for (GpuSample& gpu : snapshot.gpus.Own()) {
    gpu = UnreadableGpu(gpu, std::string(vendor.now.status().message()), wanted);
  }
  return snapshot;
}

}  // namespace gpuscaler
