// Detects pods that monitor GPUs, such as dcgm-exporter: their DRA claims contain all GPUs of the
// node, but the pods use none of them.
//
// The kubelet does not report adminAccess. If the driver's checkpoint is missing too, a pod counts
// as monitoring if a DaemonSet owns it and its claims contain all GPUs of the node. GPUs in MIG
// mode need not be among them, unless every GPU is in MIG mode: a device class selects either GPUs
// or instances. Without adminAccess, pods of a DaemonSet cannot match while another pod has a GPU:
// a device is in one claim only. Claims that share a device's capacity are an exception, and none
// of them contains all GPUs.
#pragma once

#include <map>
#include <set>
#include <string>

#include "absl/types/span.h"
#include "workload/gpu_holders.h"

namespace gpuscaler {

class MonitoringPodDetector {
 public:
  MonitoringPodDetector(absl::Span<const PodAllocation> pods, absl::Span<const GpuSample> all);

  // Returns true if the pods with the device's claim have claims for all of the node's GPUs, and
  // `pod` is a DaemonSet's by its owner references. Returns false if PodDevice::is_held.
  bool IsMonitoring(const Pod& pod, const PodDevice& device) const;

  // Returns the same, but the pod may also be a DaemonSet's by its name, or have no owner.
  bool MayBeMonitoring(const Pod& pod, const PodDevice& device) const;

  bool HasAllGpus(const std::string& claim) const;

 private:
  // A vendor's DRA driver claims only its own GPUs.
  struct Vendor {
    Vendor(GpuVendor vendor, absl::Span<const PodAllocation> pods, absl::Span<const GpuSample> all);

    size_t all_gpus = 0;
    // Key: a claim. Value: the GPUs in all claims of its pods; an instance counts as its
    // parent GPU.
    std::map<std::string, std::set<std::string>> gpus;
  };

  static bool HasAllGpus(const Vendor& vendor, const std::string& claim);

  const Vendor nvidia_;
  const Vendor amd_;
};

}  // namespace gpuscaler
