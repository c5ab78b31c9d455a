// The GPU that a device id of the kubelet stands for. Each plugin has a form of its own, and
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
    kUuid,      // "GPU-..." or "MIG-..."
    kVirtual,   // "GPU-...-3" of HAMi's and Volcano's plugins: the pod may get any other GPU
    kMigPlace,  // "MIG-GPU-.../1/0", of NVIDIA's drivers before 470
    // "nvidia0" and "nvidia0/gi3" of GKE's plugin, "gpu-0" of NVIDIA's DRA driver, "hami-gpu-0" of
    // HAMi's.
    kMinor,
    kPciAddress,  // "0000:19:00.0" of AMD's
    kPartition,   // "amdgpu_xcp_30"
    kCard,        // "card0" of Intel's
    kAll,         // all GPUs: "all" of WSL, "tegra"
    // "gpu-0-mig-1g5gb-19-0" of NVIDIA's DRA driver: profile and placement of the instance, which
    // NVML shows only to a privileged user. Also any other name of that driver.
    kName,
  };
  Form form = Form::kUuid;
  std::string text;                 // without the replica's number
  std::string parent_uuid;          // kMigPlace only
  std::optional<int> minor_number;  // kMinor, and kName if the name has it
  std::optional<int> instance;      // MIG GPU instance of kMigPlace and kMinor
  bool is_replica = false;          // one of several that a plugin makes of one device
  friend bool operator==(const DeviceId&, const DeviceId&) = default;
};

// Returns true for the DRA drivers of NVIDIA and HAMi.
bool IsDraDriver(absl::string_view resource);

// Returns true for resources of NVIDIA's plugins and for these drivers.
bool IsOfNvidia(absl::string_view resource);

// Returns the device. Empty: by id and resource it is no GPU: a network card, a monitoring device.
std::optional<DeviceId> ParseDeviceId(absl::string_view resource, absl::string_view id);

// Returns true if the id is that of a MIG instance.
bool IsOfInstance(const DeviceId& device);

// Returns true if pods hold MIG instances of the GPU, and never the GPU itself.
bool IsDivided(const GpuSample& gpu, absl::Span<const GpuSample> gpus);

// Returns the indices in `gpus` of the GPUs that the id stands for. Empty: none of them, or the id
// does not show which. An index in the list is never compared: it is not the kernel's number, nor
// the plugin's.
std::vector<int> FindGpus(const DeviceId& device, absl::Span<const GpuSample> gpus);

// Returns the indices in `gpus` of the GPUs that the id may stand for, if FindGpus() has not found
// it. Empty: none of them. A UUID may be that of a GPU that has not answered since the start. A
// minor number may be that of such a GPU too, or of one without a number if no GPU has it. An
// instance that is not in `gpus` may belong to any GPU in MIG mode, or to the one with its minor
// number. Devices of other vendors are not read.
std::vector<int> FindPossibleGpus(const DeviceId& device, absl::Span<const GpuSample> gpus);

}  // namespace gpuscaler
