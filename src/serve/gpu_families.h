// The numbers of a GPU, and the Prometheus metric families of a snapshot's GPUs.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "model/node_snapshot.h"
#include "prometheus/metric_family.h"

namespace gpuscaler {

// A numeric field of a sample. Rows in turn share a family if they differ in a label.
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

// Returns one series for each GPU and MIG instance that has the value. A field that could not be
// read has none, but one in keda_gpu_scaler_gpu_read_failures. A GPU that one pod holds has its
// labels. The pods that share a GPU are in keda_gpu_scaler_gpu_holder_share alone, so that each
// other family has one series per GPU and sums are right. Families without a series are left out.
std::vector<prometheus::MetricFamily> GpuFamilies(const NodeSnapshot& snapshot);

}  // namespace gpuscaler
