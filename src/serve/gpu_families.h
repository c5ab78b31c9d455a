// Converts the GPUs of a snapshot to Prometheus metric families.
#pragma once

#include <vector>

#include "model/node_snapshot.h"
#include "prometheus/metric_family.h"

namespace gpuscaler {

// Returns one series for each GPU and MIG instance that has the value. A field that could not be
// read has none, but one in keda_gpu_scaler_gpu_read_failures. A GPU that one pod holds has its
// labels. The pods that share a GPU are in keda_gpu_scaler_gpu_holder_share alone, so that each
// other family has one series per GPU and sums are right. Families without a series are left out.
std::vector<prometheus::MetricFamily> GpuFamilies(const NodeSnapshot& snapshot);

}  // namespace gpuscaler
