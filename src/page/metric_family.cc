#include "page/metric_family.h"

#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "prometheus/text_serializer.h"

namespace gpuscaler {

using prometheus::ClientMetric;
using prometheus::MetricFamily;

std::string FullMetricName(absl::string_view name) {
  return absl::StrCat("keda_gpu_scaler_", name);
}

MetricFamily NewFamily(absl::string_view name, absl::string_view help,
                       prometheus::MetricType type) {
  return {.name = FullMetricName(name), .help = std::string(help), .type = type};
}

// The serializer reads the member for the family's type, so both are set.
ClientMetric& AddValue(MetricFamily& family, double value,
                       std::vector<ClientMetric::Label> labels) {
  ClientMetric& series = family.metric.emplace_back();
  series.label = std::move(labels);
  series.gauge.value = value;
  series.counter.value = value;
  return series;
}

MetricFamily OneValue(absl::string_view name, absl::string_view help, prometheus::MetricType type,
                      double value) {
  MetricFamily family = NewFamily(name, help, type);
  AddValue(family, value);
  return family;
}

std::string MetricsText(const std::vector<MetricFamily>& families) {
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, families);
  return text.str();
}

}  // namespace gpuscaler
