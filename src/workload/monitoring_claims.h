// Claims that only monitor GPUs, as dcgm-exporter's does: they name every GPU of the node, and hold
// none.
//
// A claim with adminAccess is listed like any other, and only the driver's checkpoint marks it.
// Without the checkpoint it is inferred: a device is in one claim at most that has no admin access,
// and pods that monitor a node are a DaemonSet's, each with a claim for all of the node's GPUs.
// Several claims that share a device's capacity hold it all the same: none of them has all GPUs.
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

  // Returns true if the claim has all of the node's GPUs and the pod is a DaemonSet's by its owner
  // references.
  bool IsMonitoring(const Pod& pod, const std::string& claim) const;

  // The same, if the pod may be a DaemonSet's by its name.
  bool MayBeMonitoring(const Pod& pod, const std::string& claim) const;

  bool HasAllGpus(const std::string& claim) const;

  // Returns those of `claims`, which name one device, that have the fewest devices.
  std::set<std::string> Smallest(const std::set<std::string>& claims) const;

 private:
  size_t SizeOf(const std::string& claim) const;

  size_t whole_gpus_ = 0;
  std::map<std::string, std::set<std::string>> gpus_;  // key: claim; an instance is its GPU
};

}  // namespace gpuscaler
