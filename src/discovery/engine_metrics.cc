#include "discovery/engine_metrics.h"

#include <sstream>
#include <utility>
#include <vector>

#include "prometheus/metric_family.h"
#include "prometheus/text_serializer.h"

namespace gpuscaler {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;

void AddLabelled(MetricFamily& family, ClientMetric::Label label, int64_t value) {
  ClientMetric& series = family.metric.emplace_back();
  series.label = {std::move(label)};
  series.gauge.value = static_cast<double>(value);
  series.counter.value = static_cast<double>(value);
}

}  // namespace

std::string EngineMetrics(const EngineDiscovery::Counts& counts) {
  MetricFamily found = {.name = "keda_gpu_scaler_engines_found",
                        .help =
                            "Inference engines in this node's pods that are found and answer, "
                            "while triggers ask about them.",
                        .type = prometheus::MetricType::Gauge};
  for (const auto& [engine, number] : counts.answering) {
    AddLabelled(found, {"engine", engine}, number);
  }
  MetricFamily readings = {
      .name = "keda_gpu_scaler_found_engine_readings_total",
      .help =
          "Requests for pages of metrics in this node's pods: read, failed (of an engine that "
          "was found), or not_an_engine (of a server that may have been one).",
      .type = prometheus::MetricType::Counter};
  AddLabelled(readings, {"outcome", "read"}, counts.read);
  AddLabelled(readings, {"outcome", "failed"}, counts.failed);
  AddLabelled(readings, {"outcome", "not_an_engine"}, counts.of_others);
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, {found, readings});
  return text.str();
}

}  // namespace gpuscaler
