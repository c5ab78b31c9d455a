#include "workload/vgpu_annotation.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "workload/device_id.h"

namespace gpuscaler {
namespace {

using Gpus = std::vector<std::string>;  // UUIDs

// Parses "GPU-a,NVIDIA,3000,30:;GPU-b,NVIDIA,3000,30:GPU-c,NVIDIA,3000,30:;": a container ends with
// ";", a device with ":" (HAMi docs/develop/protocol.md; Volcano device_info.go). Returns the GPUs
// of each container that has some. Returns nothing if one is an instance that is made on demand,
// "GPU-a[0-1]".
std::vector<Gpus> Allocated(absl::string_view annotation) {
  std::vector<Gpus> containers;
  if (absl::StrContains(annotation, '[')) return containers;
  for (const absl::string_view container : absl::StrSplit(annotation, ';')) {
    Gpus gpus;
    for (const absl::string_view device : absl::StrSplit(container, ':', absl::SkipEmpty())) {
      gpus.emplace_back(device.substr(0, device.find(',')));
    }
    if (!gpus.empty()) containers.push_back(std::move(gpus));
  }
  return containers;
}

std::vector<Gpus> AllocatedTo(const KubeletPod& pod) {
  for (const char* const key : {"hami.io/vgpu-devices-allocated", "volcano.sh/vgpu-ids-new"}) {
    const auto annotation = pod.annotations.find(key);
    if (annotation != pod.annotations.end()) return Allocated(annotation->second);
  }
  return {};
}

bool IsVirtualDevice(const PodDevice& device) {
  const auto id = ParseDeviceId(device.resource, device.id);
  return id && id->form == DeviceId::Form::kVirtual;
}

// Containers without virtual devices are left out. The order is the pod's.
std::vector<PodDevice> FirstOfEachContainer(const std::vector<PodDevice>& devices) {
  std::vector<PodDevice> first;
  for (const PodDevice& device : devices) {
    const bool is_known =
        std::ranges::find(first, device.container, &PodDevice::container) != first.end();
    if (IsVirtualDevice(device) && !is_known) first.push_back(device);
  }
  return first;
}

}  // namespace

std::vector<PodDevice> WithAllocatedGpus(std::vector<PodDevice> devices, const KubeletPod& pod) {
  const std::vector<PodDevice> containers = FirstOfEachContainer(devices);
  std::vector<Gpus> allocated = AllocatedTo(pod);
  if (containers.empty() || allocated.empty()) return devices;
  // The annotation has init containers too, which the kubelet does not list after their end.
  const bool all_same =
      std::ranges::all_of(allocated, [&](const Gpus& gpus) { return gpus == allocated.front(); });
  if (allocated.size() != containers.size() && !all_same) return devices;
  allocated.resize(containers.size(), allocated.front());
  std::erase_if(devices, IsVirtualDevice);
  for (size_t i = 0; i < containers.size(); ++i) {
    for (const std::string& gpu : allocated[i]) {
      PodDevice device = containers[i];
      device.id = absl::StrCat(gpu, "::0");
      devices.push_back(std::move(device));
    }
  }
  return devices;
}

}  // namespace gpuscaler
