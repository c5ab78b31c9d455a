// What a device id of the kubelet says about the GPU it stands for. The plugins each have a form of
// their own, and let operators rename resources: the id's form decides, the resource comes second.
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
    // "nvidia0" and "nvidia0/gi3", of GKE's plugin; "gpu-0" of NVIDIA's DRA driver, and
    // "hami-gpu-0" of HAMi's.
    kMinor,
    kPciAddress,  // "0000:19:00.0", of AMD's
    kPartition,   // "amdgpu_xcp_30"
    kCard,        // "card0", of Intel's
    kAll,         // whatever GPUs there are: "all" of WSL, "tegra"
    // "gpu-0-mig-1g5gb-19-0" of NVIDIA's DRA driver: the instance's profile and placement, which
    // NVML shows to a privileged user alone. Also any other name of that driver.
    kName,
  };
  Form form = Form::kUuid;
  std::string text;                 // without the replica's number
  std::string parent_uuid;          // of kMigPlace
  std::optional<int> minor_number;  // of kMinor, and of kName if the name has it
  std::optional<int> instance;      // the MIG GPU instance of kMigPlace and kMinor
  bool is_replica = false;          // one of several that a plugin makes of one device
  friend bool operator==(const DeviceId&, const DeviceId&) = default;
};

// Returns true for the DRA drivers of NVIDIA and HAMi.
bool IsDraDriver(absl::string_view resource);

// Returns true for resources of NVIDIA's plugins and for these drivers.
bool IsOfNvidia(absl::string_view resource);

// Empty: no GPU, as far as id and resource tell (a network card, a monitoring device).
std::optional<DeviceId> ParseDeviceId(absl::string_view resource, absl::string_view id);

// Returns true if the id is a MIG instance's.
bool IsOfInstance(const DeviceId& device);

// Returns true if MIG instances of the GPU are held, and never the GPU itself.
bool IsDivided(const GpuSample& gpu, absl::Span<const GpuSample> gpus);

// The places in `gpus` that the id stands for: empty where none of them is it, or the id does not
// tell which. Never by the place in the list: that is not the kernel's, nor the plugin's.
std::vector<int> FindGpus(const DeviceId& device, absl::Span<const GpuSample> gpus);

// The places in `gpus` that the id may stand for, if FindGpus() did not find it. Empty: it is none
// of them. An id with a UUID is at most a GPU that has not answered since the start, one with a
// minor number at most that GPU or, if none has that number, those without one. An instance that is
// not among `gpus` may be of any GPU in MIG mode, or of that with its minor number. Devices of
// other makers are not read.
std::vector<int> FindPossibleGpus(const DeviceId& device, absl::Span<const GpuSample> gpus);

}  // namespace gpuscaler
