#include "signal/engine_metrics.h"

#include "page/metric_family.h"

namespace gpuscaler {

using prometheus::MetricFamily;

std::string EngineMetrics(const EngineDiscovery::Counts& counts) {
  MetricFamily found = NewFamily("engines_found",
                                 "Inference engines in this node's pods that are found and answer, "
                                 "while triggers request them.",
                                 prometheus::MetricType::Gauge);
  for (const auto& [engine, number] : counts.answering) {
    AddValue(found, static_cast<double>(number), {{"engine", engine}});
  }
  MetricFamily readings = NewFamily(
      "found_engine_readings_total",
      "Requests for pages of metrics in this node's pods: read, failed (of an engine that "
      "was found), or not_an_engine (of a server that may have been one).",
      prometheus::MetricType::Counter);
  AddValue(readings, static_cast<double>(counts.read), {{"outcome", "read"}});
  AddValue(readings, static_cast<double>(counts.failed), {{"outcome", "failed"}});
  AddValue(readings, static_cast<double>(counts.of_others), {{"outcome", "not_an_engine"}});
  return MetricsText({found, readings});
}

}  // namespace gpuscaler
