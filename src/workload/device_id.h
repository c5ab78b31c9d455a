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
    kUuid,        // "GPU-..." or "MIG-..."
    kMigPlace,    // "MIG-GPU-.../1/0", of NVIDIA's drivers before 470
    kMinor,       // "nvidia0" and "nvidia0/gi3", of GKE's plugin
    kPciAddress,  // "0000:19:00.0", of AMD's
    kPartition,   // "amdgpu_xcp_30"
    kCard,        // "card0", of Intel's
    kAll,         // whatever GPUs there are: "all" of WSL, "tegra"
    kName,        // "gpu-0" of NVIDIA's DRA driver, whose meaning only the API server has
  };
  Form form = Form::kUuid;
  std::string text;             // without the replica's number
  std::string parent_uuid;      // of kMigPlace
  int minor_number = 0;         // of kMinor
  std::optional<int> instance;  // the MIG GPU instance of kMigPlace and kMinor
  bool is_replica = false;      // one of several that a plugin makes of one device
  friend bool operator==(const DeviceId&, const DeviceId&) = default;
};

// Empty: no GPU, as far as id and resource tell (a network card, a monitoring device).
std::optional<DeviceId> ParseDeviceId(absl::string_view resource, absl::string_view id);

// The places in `gpus` that the id stands for: empty where none of them is it, or the id does not
// tell which. Never by the place in the list: that is not the kernel's, nor the plugin's.
std::vector<int> FindGpus(const DeviceId& device, absl::Span<const GpuSample> gpus);

// Whether a device that FindGpus() did not find may be one of NVIDIA's GPUs all the same. An
// unknown UUID is none of them; of other makers' devices nobody reads any.
bool MayBeAny(const DeviceId& device);

}  // namespace gpuscaler
