// From what the kubelet says of pods and devices to the holders of each GPU.
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

// A pod of the node with what it holds.
struct NodePod {
  Pod pod;
  std::vector<PodDevice> devices;
  GpuPart part;                 // each of its GPUs has it; empty: it asked for none
  bool is_reservation = false;  // other pods, which have no device, share its GPUs
};

std::string NameOf(const Pod& pod);  // "shop/web-0"

// Returns every id of the device, the most reliable first: a UUID in a claim's CDI names,
// PodDevice::other_ids, and the id that the kubelet lists. Empty: it is no GPU.
std::vector<DeviceId> IdsOf(const PodDevice& device);

// Returns true if one of the devices is a GPU.
bool HasGpu(absl::Span<const PodDevice> devices);

// A device that may be one of several GPUs.
struct UnplacedDevice {
  std::string pod;          // as NameOf() has it
  std::string id;           // with its resource, "gpu-0 of gpu.nvidia.com"
  std::vector<int> may_be;  // places in the snapshot's GPUs; empty: it is none of them
  friend bool operator==(const UnplacedDevice&, const UnplacedDevice&) = default;
};

// Fills `holders` and `pods`; the answer has the devices whose GPU is not known.
//
// An id that names its GPU decides. Of a device that only one pod can hold and several are listed
// with, a dead one and its successor, the pod with a process there has it, else the one that was
// listed last. A device that names none is placed by the pods' processes. If these do not show it
// either, its pod is a possible holder of each GPU that the device may be and no other pod holds:
// none of them is guessed, and the holders of all other GPUs are known. A virtual device may also
// be a GPU that others share: these stay known only if the pods of all processes there are.
//
// If other pods hold all GPUs that a device may be, or one of NVIDIA's is none of the node's GPUs,
// its pod is a possible holder beside those pods, which stay known: its replica counts as
// unreadable, and never as 0.
std::vector<UnplacedDevice> FillHolders(absl::Span<const NodePod> pods,
                                        const PodOfProcess& pod_of_process, NodeSnapshot& snapshot);

}  // namespace gpuscaler
