// A GPU that several pods hold at once, by time slicing, MPS or a scheduler: how its load is
// divided.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "model/gpu_sample.h"
#include "workload/reserved_gpus.h"

namespace gpuscaler {

// A process' pod, "shop/web-0"; empty: of none, or not known.
using PodOfProcess = std::function<std::string(int64_t pid)>;

// Returns the share of each pod, "shop/web-0", in the GPU's load, and the evidence for them. They
// add up to 1. If the driver reports what each process used and each that did is one of the pods',
// the shares are the processes'. Else they are as the parts that all pods have asked for, else
// equal.
std::pair<std::vector<double>, SharedBy> SharesOf(const GpuSample& gpu,
                                                  absl::Span<const std::string> pods,
                                                  absl::Span<const GpuPart> parts,
                                                  const PodOfProcess& pod_of_process);

}  // namespace gpuscaler
