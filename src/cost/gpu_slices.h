// Whole GPUs as they are divided into MIG instances or partitions.
#pragma once

#include <string>
#include <vector>

#include "model/node_snapshot.h"

namespace gpuscaler {

struct GpuSlice {
  const GpuSample* gpu = nullptr;  // the whole GPU, or an instance; null: the undivided rest
  double fraction = 1;             // a part of the whole GPU
};

struct WholeGpu {
  std::string uuid;
  std::string model;             // "NVIDIA H200"
  std::vector<GpuSlice> slices;  // never empty; their fractions add up to 1
};

// Returns the whole GPUs of a snapshot, in order. The slices point into the snapshot.
//
// The fraction of a MIG instance is that of its profile: 3g is 3 of 7 compute slices, and 3 of 4 on
// an A30. Without a profile in the names the fractions are those of the memory. If they are not
// known either, or if partitions share the memory (AMD's NPS1), all parts are equal.
std::vector<WholeGpu> WholeGpusOn(const NodeSnapshot& snapshot);

}  // namespace gpuscaler
