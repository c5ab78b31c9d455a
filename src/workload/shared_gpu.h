// Divides the load of a GPU that several pods hold at once, by time slicing, MPS or a scheduler.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "model/gpu_sample.h"
#include "workload/reserved_gpus.h"

namespace gpuscaler {

// Returns the pod of a process, "shop/web-0"; empty: none, or unknown.
using PodOfProcess = std::function<std::string(int64_t pid)>;

// Returns the share of each pod, "shop/web-0", in the GPU's load, and the evidence for the shares.
// They add up to 1. If the driver reports the utilization of each process, and each active one
// belongs to one of the pods, the shares are those of the processes. Else they are the parts that
// all pods have requested. Else they are equal.
std::pair<std::vector<double>, SharedBy> SharesOf(const GpuSample& gpu,
                                                  absl::Span<const std::string> pods,
                                                  absl::Span<const GpuRequest> requests,
                                                  const PodOfProcess& pod_of_process);

}  // namespace gpuscaler
