#include "serve/signal_metrics.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "page/metric_family.h"

namespace gpuscaler {

using prometheus::ClientMetric;
using prometheus::MetricFamily;

std::string SignalMetrics(const SignalCountsByKind& counts, absl::Time now) {
  MetricFamily readings = NewFamily(
      "signal_readings_total",
      "Readings of the engines, pages of metrics and queues in Redis that triggers name, one "
      "for each address and what is read there: read, or failed, also for a name that does not "
      "resolve and for credentials that are refused.",
      prometheus::MetricType::Counter);
  MetricFamily sources = NewFamily(
      "signal_sources", "Names of engines, numbers on pages and queues that triggers use now.",
      prometheus::MetricType::Gauge);
  MetricFamily age = NewFamily(
      "signal_reading_age_seconds",
      "Time since each source that triggers use was last read at any of its addresses, or since "
      "its first use if it never was: that of the oldest. A name of engines that has no address "
      "now counts as read: they are scaled to zero.",
      prometheus::MetricType::Gauge);
  for (const SignalKind kind : kSignalKinds) {
    const SignalCounts& counted = counts[static_cast<size_t>(kind)];
    const ClientMetric::Label label = {"kind", std::string(Name(kind))};
    AddValue(readings, static_cast<double>(counted.read), {label, {"outcome", "read"}});
    AddValue(readings, static_cast<double>(counted.failed), {label, {"outcome", "failed"}});
    AddValue(sources, static_cast<double>(counted.sources), {label});
    if (counted.sources == 0) continue;
    const absl::Duration oldest = std::max(now - counted.oldest, absl::ZeroDuration());
    AddValue(age, absl::ToDoubleSeconds(oldest), {label});
  }
  return MetricsText({readings, sources, age});
}

}  // namespace gpuscaler
