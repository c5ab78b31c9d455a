// GPUs of KAI and Run:ai. The kubelet lists each with a reservation pod, which does not use it. The
// pods that share it have no device. A label on all of them names their group.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kubelet/kubelet_pods.h"
#include "kubelet/pod_resources.h"

namespace gpuscaler {

// Keys are namespace and name.
using KubeletPodsByName = std::map<std::pair<std::string, std::string>, KubeletPod>;

// Gives the GPUs of each reservation pod in `listed` to the pods of its group, and removes that
// pod. A pod with a GPU and the group's label is a reservation if its namespace is one of
// `namespaces`, or if a pod of its group has no GPU. A pod with unknown labels stays.
void GiveReservedGpus(const KubeletPodsByName& reported, const std::set<std::string>& namespaces,
                      std::vector<PodDevices>& listed);

// The share of a GPU that a pod has requested.
struct GpuRequest {
  std::optional<double> fraction;  // 0 to 1
  std::optional<double> memory_mib;
  friend bool operator==(const GpuRequest&, const GpuRequest&) = default;
};

// Reads the annotations gpu-fraction and gpu-memory. An invalid number counts as absent.
GpuRequest GpuRequestOf(const KubeletPod& pod);

}  // namespace gpuscaler
