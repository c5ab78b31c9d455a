// The GPUs of a snapshot in Prometheus' data model.
#pragma once

#include <vector>

#include "model/node_snapshot.h"
#include "prometheus/metric_family.h"

namespace gpuscaler {

// One series for each GPU and MIG instance that has the value. A field that could not be read has
// none: it is counted in keda_gpu_scaler_gpu_read_failures instead. A GPU that one pod holds bears
// its labels; how several share one is in keda_gpu_scaler_gpu_holder_share alone, so that a GPU has
// one series in each other family and sums come out right. Families without a series are left out.
std::vector<prometheus::MetricFamily> GpuFamilies(const NodeSnapshot& snapshot);

}  // namespace gpuscaler
