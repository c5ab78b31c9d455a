// Metrics of our own: their families, and these as text.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "prometheus/metric_family.h"

namespace gpuscaler {

// All of ours begin alike.
std::string FullMetricName(absl::string_view name);

// Without a series.
prometheus::MetricFamily NewFamily(absl::string_view name, absl::string_view help,
                                   prometheus::MetricType type);

// To a family of gauges or counters.
prometheus::ClientMetric& AddValue(prometheus::MetricFamily& family, double value,
                                   std::vector<prometheus::ClientMetric::Label> labels = {});

// A family of one series without labels.
prometheus::MetricFamily OneValue(absl::string_view name, absl::string_view help,
                                  prometheus::MetricType type, double value);

// As Prometheus scrapes it.
std::string MetricsText(const std::vector<prometheus::MetricFamily>& families);

}  // namespace gpuscaler
