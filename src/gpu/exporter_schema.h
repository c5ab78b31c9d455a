// The differences between the exporters that are read: names, labels, units and identities.
#pragma once

#include <array>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "gpu/exporter_exposition.h"
#include "gpu/exporter_field.h"
#include "page/prometheus_text.h"

namespace gpuscaler {

// A metric that is read. If several metrics of one field are exported, the first in the table
// counts.
struct ExporterMetric {
  absl::string_view name;  // without the prefix that an operator may set
  ExporterField field = ExporterField::kCount;
  bool is_mean = false;              // each line is a part of the GPU, and the mean its value
  bool first_instance_only = false;  // the others of a divided GPU report 0, or the GPU's
  double scale = 1;                  // from the exporter's unit to the field's
};

// The names of a label in different releases.
using ExporterLabel = std::array<absl::string_view, 2>;

struct ExporterSchema {
  absl::string_view scheme;  // in --gpu-source: "dcgm:"
  absl::string_view name;    // in errors and logs
  int port = 0;
  absl::Duration collect_interval;  // if the exporter is not configured otherwise
  // The age of a reading at which the exporter no longer collects: one collection may be missed.
  absl::Duration stale_after;
  bool has_kubelet_ids = false;  // the exposition identifies GPUs as the kubelet does
  absl::string_view name_part;   // in the names of all its metrics
  absl::Span<const ExporterMetric> metrics;
  ExporterLabel namespace_name;
  ExporterLabel pod;
  ExporterLabel container;
  ExporterLabel pod_uid;
  ExporterLabel driver_version;
  // Returns the identity of a line's device among those of the exposition. Empty: no GPU's line.
  std::string (*key)(const ExpositionSample& sample) = nullptr;
  // Fills identity and name of the device. INVALID_ARGUMENT: the labels are not a GPU's.
  absl::Status (*describe)(const ExpositionSample& sample, ExporterDevice& device) = nullptr;
  // Returns true if the number means "unknown".
  bool (*is_unknown)(double number) = nullptr;
};

// Returns nullptr if the metric is not read.
const ExporterMetric* MetricOf(const ExporterSchema& schema, absl::string_view name);

// Returns the name of the first metric of the field, which must be in the table.
absl::string_view MetricNameOf(const ExporterSchema& schema, ExporterField field);

// Returns the value of the label under either of its names. Empty: the line has neither.
std::string LabelOf(const ExpositionSample& sample, const ExporterLabel& label);

// Longer texts are cut off, and longer identities an error.
constexpr size_t kMaxExporterText = 256;
constexpr size_t kMaxExporterId = 80;
constexpr int kMaxExporterIndex = 1024;

}  // namespace gpuscaler
