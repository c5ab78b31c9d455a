// The GPU of a device id that the kubelet reports. Each plugin has its own form of ids, and
// operators may rename resources: so the form of the id decides, and the resource comes second.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "model/gpu_sample.h"

namespace gpuscaler {

struct DeviceId {
  enum class Form {
    kUuid,           // "GPU-..." or "MIG-..."
    kVirtual,        // "GPU-...-3", HAMi and Volcano: the pod may get any other GPU
    kLegacyMigUuid,  // "MIG-GPU-<uuid>/<GPU instance>/<compute instance>", drivers before 470
    kMinorNumber,   // "nvidia0", "nvidia0/gi3" (GKE); "gpu-0" (NVIDIA DRA); "hami-gpu-0" (HAMi DRA)
    kPciAddress,    // "0000:19:00.0" (AMD): a whole GPU, or partition 0 of a divided one
    kAmdPartition,  // "amdgpu_xcp_30"
    kAmdRender,     // "renderD128", from "gpu-1-128" (AMD DRA)
    kIntel,         // "card0"; "0000-03-00-0-0xe20b" (Intel DRA)
    kAllGpus,       // "all" (WSL), "tegra"
    kDraName,       // other names of the DRA drivers, such as "gpu-0-mig-1g5gb-19-0": profile and
                    // placement, which NVML shows only to privileged users
  };
  Form form = Form::kUuid;
  std::string text;                 // without the replica's number
  std::string parent_uuid;          // kLegacyMigUuid only
  std::optional<int> minor_number;  // kMinorNumber, and kDraName if the name has it
  std::optional<int> instance;      // MIG GPU instance of kLegacyMigUuid and kMinorNumber
  bool is_replica = false;          // one of several that a plugin makes of one device
  friend bool operator==(const DeviceId&, const DeviceId&) = default;
};

// Returns true for the DRA drivers of NVIDIA and HAMi.
bool IsDraDriver(absl::string_view resource);

// Returns true for resources of NVIDIA's device plugins, and for the DRA drivers of NVIDIA and
// HAMi.
bool IsNvidiaResource(absl::string_view resource);

enum class GpuVendor { kNvidia, kAmd, kIntel };
GpuVendor VendorOf(const DeviceId& device);
GpuVendor VendorOf(const GpuSample& gpu);

// Returns the UUID of a GPU of Intel's, which has none: "Intel-card0".
std::string IntelUuid(const DeviceId& device);

// Returns nullopt if the id is not a GPU: a network card, or a monitoring device.
std::optional<DeviceId> ParseDeviceId(absl::string_view resource, absl::string_view id);

bool IsMigInstance(const DeviceId& device);

// Returns true if the GPU is in MIG mode: it has instances in `gpus`, or the driver reports the
// mode.
bool IsInMigMode(const GpuSample& gpu, absl::Span<const GpuSample> gpus);

// Returns the indices in `gpus` of the GPUs of the id. Empty: none of them, or the id does not show
// which. The position in the list is never compared with the id: it is neither the kernel's number
// nor the plugin's.
std::vector<int> FindGpus(const DeviceId& device, absl::Span<const GpuSample> gpus);

// Returns the indices in `gpus` of the GPUs that the id may mean. Call it if FindGpus() returned
// none. Empty: no GPU here can match.
// - UUID: a GPU that has not answered since the agent started.
// - Minor number: such a GPU, or one without a known number, unless another GPU has the number.
// - MIG instance missing from `gpus`: any GPU in MIG mode, or only the one with its minor number.
// - Id of AMD's or Intel's: none. Each of their GPUs and partitions is in `gpus` with its ids.
// An id never matches a GPU of another vendor.
std::vector<int> FindPossibleGpus(const DeviceId& device, absl::Span<const GpuSample> gpus);

}  // namespace gpuscaler
