// A GPU that several pods hold at once, by time slicing or MPS: whose load it is.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "model/gpu_sample.h"

namespace gpuscaler {

// A process' pod, "shop/web-0"; empty: of none, or not known.
using PodOfProcess = std::function<std::string(int64_t pid)>;

// The share of each pod, "shop/web-0", in the GPU's load; they add up to 1. As the processes used
// the GPU, where the driver says so and each that did is one of the pods'; else equal shares.
std::vector<double> SharesOf(const GpuSample& gpu, absl::Span<const std::string> pods,
                             const PodOfProcess& pod_of_process);

}  // namespace gpuscaler
