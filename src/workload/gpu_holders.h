// From what the kubelet says of pods and devices to the holders of each GPU.
#pragma once

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "kubelet/pod_resources.h"
#include "model/node_snapshot.h"
#include "workload/shared_gpu.h"

namespace gpuscaler {

// A pod of the node with what it holds.
struct NodePod {
  Pod pod;
  std::vector<PodDevice> devices;
};

std::string NameOf(const Pod& pod);  // "shop/web-0"

// A device that may be one of the GPUs, and nobody can tell which.
struct UnplacedDevice {
  std::string pod;  // as NameOf() has it
  std::string id;   // with its resource, "gpu-0 of gpu.nvidia.com"
  // It is none of those that can be read: the holders of these are known all the same.
  bool is_disconnected = false;
  friend bool operator==(const UnplacedDevice&, const UnplacedDevice&) = default;
};

// Fills `holders` and `pods`; the answer has the devices whose GPU is not known.
//
// An id that names its GPU decides. Of a device that only one pod can hold and several are listed
// with, a dead one and its successor, the pod with a process there has it, else the one that was
// listed last. What names none is placed by the pods' processes. A GPU without a UUID yet, which
// has not answered since the start, is held by each pod of a device that is listed and not seen:
// no one of them is guessed, and whichever it is, what it holds cannot be read.
std::vector<UnplacedDevice> FillHolders(absl::Span<const NodePod> pods,
                                        const PodOfProcess& pod_of_process, NodeSnapshot& snapshot);

}  // namespace gpuscaler
