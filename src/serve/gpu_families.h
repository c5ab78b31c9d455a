// The numbers of a GPU, and the Prometheus metric families of a snapshot's GPUs.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "model/node_snapshot.h"
#include "prometheus/metric_family.h"

namespace gpuscaler {

// A numeric field of a sample. Consecutive rows may share a family, with different values of a
// label.
struct GpuNumber {
  const char* column;  // in JSON and CSV
  const char* family;
  const char* help;
  std::optional<double> (*value)(const GpuSample&);
  const char* label = nullptr;  // "direction"
  const char* label_value = nullptr;
  prometheus::MetricType type = prometheus::MetricType::Gauge;
};
std::span<const GpuNumber> GpuNumbers();

// Returns families with one series for each GPU and MIG instance that has the value. A field that
// could not be read has a series in keda_gpu_scaler_gpu_read_failures instead. If one pod holds the
// GPU, the series have the pod's labels. Pods that share a GPU are labels only in
// keda_gpu_scaler_gpu_holder_share. So every other family has one series per GPU, and sums are
// right. Families without a series are left out.
std::vector<prometheus::MetricFamily> GpuFamilies(const NodeSnapshot& snapshot);

}  // namespace gpuscaler
