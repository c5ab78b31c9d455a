// Finds the holders of each GPU from the kubelet's pods and devices.
#pragma once

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "kubelet/pod_resources.h"
#include "model/node_snapshot.h"
#include "workload/device_id.h"
#include "workload/reserved_gpus.h"
#include "workload/shared_gpu.h"

namespace gpuscaler {

// A pod of the node and what it holds.
struct PodAllocation {
  Pod pod;
  std::vector<PodDevice> devices;
  GpuRequest request;           // each of its GPUs has it; empty: none was requested
  bool is_reservation = false;  // other pods, without a device, share its GPUs
};

std::string NameOf(const Pod& pod);  // "shop/web-0"

// Returns every id of the device, the most reliable first: a UUID in a claim's CDI names,
// PodDevice::other_ids, and the id that the kubelet lists. Empty: the device is no GPU.
std::vector<DeviceId> IdsOf(const PodDevice& device);

bool HasGpu(absl::Span<const PodDevice> devices);

// A device that may be one of several GPUs.
struct AmbiguousDevice {
  std::string pod;          // as NameOf() returns it
  std::string id;           // with its resource, "gpu-0 of gpu.nvidia.com"
  std::vector<int> may_be;  // indices in the snapshot's GPUs; empty: it is none of them
  friend bool operator==(const AmbiguousDevice&, const AmbiguousDevice&) = default;
};

// Fills `holders` and `pods`. Returns the devices with an unknown GPU.
//
// An id that names its GPU decides. A device that only one pod can hold may be listed with several:
// a terminated pod and its successor. Then the pod with a process on the GPU holds it, else the pod
// that was listed last. A device that names no GPU is placed by the pods' processes. If these do
// not show it either, its pod is a possible holder of each GPU that the device may be and that no
// other pod holds. No GPU is guessed, and the holders of all other GPUs are known. A virtual device
// may also be a GPU that others share. Its holders stay known only if the pods of all its processes
// are known.
//
// Other pods may hold all GPUs that a device may be, or a device of NVIDIA's may be none of the
// node's GPUs. So may one of AMD's, if the node has other GPUs of AMD's. Then its pod is a possible
// holder beside those pods, which stay known: its replica counts as unreadable, and never as 0.
std::vector<AmbiguousDevice> FillHolders(absl::Span<const PodAllocation> pods,
                                         const PodOfProcess& pod_of_process,
                                         NodeSnapshot& snapshot);

}  // namespace gpuscaler
