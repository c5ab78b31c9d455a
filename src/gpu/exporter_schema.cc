#include "gpu/exporter_schema.h"

#include <algorithm>

#include "absl/strings/match.h"

namespace gpuscaler {

const ExporterMetric* MetricOf(const ExporterSchema& schema, absl::string_view name) {
  const auto found = std::ranges::find_if(schema.metrics, [&](const ExporterMetric& metric) {
    return absl::EndsWith(name, metric.name);
  });
  return found == schema.metrics.end() ? nullptr : &*found;
}

absl::string_view MetricNameOf(const ExporterSchema& schema, ExporterField field) {
  return std::ranges::find(schema.metrics, field, &ExporterMetric::field)->name;
}

std::string LabelOf(const ExpositionSample& sample, const ExporterLabel& label) {
  std::string value = sample.Label(label[0]);
  return value.empty() && !label[1].empty() ? sample.Label(label[1]) : value;
}

}  // namespace gpuscaler
