// Claims that only monitor GPUs, like dcgm-exporter's: they name every GPU of the node, and hold
// none.
//
// A claim with adminAccess is listed like any other, and only the driver's checkpoint marks it.
// Without the checkpoint it is inferred. A device is in at most one claim without admin access.
// Pods that monitor a node belong to a DaemonSet, each with claims for all of the node's GPUs. GPUs
// in MIG mode may be missing, unless all are: a device class has either GPUs or instances. Claims
// that share a device's capacity hold it together: none of them has all GPUs, or their pods belong
// to no DaemonSet.
#pragma once

#include <map>
#include <set>
#include <string>

#include "absl/types/span.h"
#include "workload/gpu_holders.h"

namespace gpuscaler {

class MonitoringClaims {
 public:
  MonitoringClaims(absl::Span<const NodePod> pods, absl::Span<const GpuSample> gpus);

  // Returns true if the pods with the device's claim have claims for all of the node's GPUs, and
  // `pod` is a DaemonSet's by its owner references. Returns false if PodDevice::is_held.
  bool IsMonitoring(const Pod& pod, const PodDevice& device) const;

  // Returns the same, but the pod may also be a DaemonSet's by its name, or have no owner.
  bool MayBeMonitoring(const Pod& pod, const PodDevice& device) const;

  bool HasAllGpus(const std::string& claim) const;

 private:
  size_t all_gpus_ = 0;
  // Key: a claim. Value: the GPUs in all claims of its pods; an instance is its GPU.
  std::map<std::string, std::set<std::string>> gpus_;
};

}  // namespace gpuscaler
