#include "app/signal_metrics.h"

#include <algorithm>
#include <sstream>
#include <utility>
#include <vector>

#include "prometheus/metric_family.h"
#include "prometheus/text_serializer.h"

namespace gpuscaler {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;

void AddSeries(MetricFamily& family, std::vector<ClientMetric::Label> labels, double value) {
  ClientMetric& series = family.metric.emplace_back();
  series.label = std::move(labels);
  series.gauge.value = value;
  series.counter.value = value;
}

}  // namespace

std::string SignalMetrics(const SignalCountsByKind& counts, absl::Time now) {
  MetricFamily readings = {
      .name = "keda_gpu_scaler_signal_readings_total",
      .help =
          "Readings of the engines, pages of metrics and queues in Redis that triggers name, one "
          "for each address and what is wanted there: read, or failed, be it for a name that leads "
          "nowhere or credentials that are refused.",
      .type = prometheus::MetricType::Counter};
  MetricFamily sources = {
      .name = "keda_gpu_scaler_signal_sources",
      .help = "Engines' names, numbers on pages and queues that triggers want now.",
      .type = prometheus::MetricType::Gauge};
  MetricFamily age = {
      .name = "keda_gpu_scaler_signal_reading_age_seconds",
      .help =
          "Time since each source that triggers want could last be read at any of its addresses, "
          "or was first wanted: that of the oldest. A name of engines that has no address now is "
          "read: they are asleep.",
      .type = prometheus::MetricType::Gauge};
  for (const SignalKind kind : kSignalKinds) {
    const SignalCounts& counted = counts[static_cast<size_t>(kind)];
    const ClientMetric::Label label = {"kind", std::string(Name(kind))};
    AddSeries(readings, {label, {"outcome", "read"}}, static_cast<double>(counted.read));
    AddSeries(readings, {label, {"outcome", "failed"}}, static_cast<double>(counted.failed));
    AddSeries(sources, {label}, static_cast<double>(counted.sources));
    if (counted.sources == 0) continue;
    const absl::Duration oldest = std::max(now - counted.oldest, absl::ZeroDuration());
    AddSeries(age, {label}, absl::ToDoubleSeconds(oldest));
  }
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, {readings, sources, age});
  return text.str();
}

}  // namespace gpuscaler
