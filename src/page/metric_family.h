// The scaler's own metrics: families and their exposition.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "prometheus/metric_family.h"

namespace gpuscaler {

// Returns `name` with the scaler's prefix.
std::string FullMetricName(absl::string_view name);

prometheus::MetricFamily NewFamily(absl::string_view name, absl::string_view help,
                                   prometheus::MetricType type);

// Adds a series to a family of gauges or counters.
prometheus::ClientMetric& AddValue(prometheus::MetricFamily& family, double value,
                                   std::vector<prometheus::ClientMetric::Label> labels = {});

// Returns a family of one series without labels.
prometheus::MetricFamily OneValue(absl::string_view name, absl::string_view help,
                                  prometheus::MetricType type, double value);

std::string MetricsText(const std::vector<prometheus::MetricFamily>& families);

}  // namespace gpuscaler
