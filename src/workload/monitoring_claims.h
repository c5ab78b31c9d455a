// Claims that only monitor GPUs, as dcgm-exporter's does: they name every GPU of the node, and hold
// none.
//
// A claim with adminAccess is listed like any other, and only the driver's checkpoint marks it.
// Without the checkpoint it is inferred: a device is in one claim at most that has no admin access,
// and pods that monitor a node are a DaemonSet's, each with claims for all of the node's GPUs. GPUs
// in MIG mode need not be among them, unless all are: a device class has either GPUs or instances.
// Claims that share a device's capacity hold it together: none of them has all GPUs, or their pods
// are no DaemonSet's.
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

  // Returns true if the pods with the device's claim have claims for all of the node's GPUs and
  // `pod` is a DaemonSet's by its owner references. False if PodDevice::is_held.
  bool IsMonitoring(const Pod& pod, const PodDevice& device) const;

  // The same, if the pod may be a DaemonSet's by its name, or has no owner.
  bool MayBeMonitoring(const Pod& pod, const PodDevice& device) const;

  bool HasAllGpus(const std::string& claim) const;

 private:
  size_t all_gpus_ = 0;
  // Key: a claim. Value: the GPUs in all claims of its pods; an instance is its GPU.
  std::map<std::string, std::set<std::string>> gpus_;
};

}  // namespace gpuscaler
