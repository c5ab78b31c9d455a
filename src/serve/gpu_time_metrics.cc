#include "serve/gpu_time_metrics.h"

#include <utility>

#include "page/metric_family.h"

namespace gpuscaler {
namespace {

using prometheus::MetricFamily;

constexpr double kMicrosInSecond = 1e6;
constexpr double kMicroUnitsInUnit = 1e6;

}  // namespace

void GpuTimeMetrics::Read(const NodeSnapshot& snapshot) {
  MutexLock lock(mutex_);
  counters_.Add(snapshot);
}

// An empty label is none to Prometheus: time without a workload has neither namespace nor workload.
std::vector<MetricFamily> GpuTimeMetrics::Families(absl::Time now) {
  MetricFamily family = NewFamily(
      "gpu_seconds_total",
      "Time of GPUs by state (docs/cost.md). The states of a GPU add up to the time that passed.",
      prometheus::MetricType::Counter);
  {
    MutexLock lock(mutex_);
    counters_.BookMissing(now);
    for (const auto& [key, counter] : counters_.counters()) {
      for (const GpuState state : kAllGpuStates) {
        const int64_t micros = counter.times[state];
        if (micros == 0) continue;
        AddValue(family, static_cast<double>(micros) / kMicrosInSecond,
                 {{"namespace", key.namespace_name},
                  {"workload", key.workload},
                  {"gpu_model", key.gpu_model},
                  {"node", key.node},
                  {"state", std::string(Name(state))}});
      }
    }
  }
  std::vector<MetricFamily> families;
  if (!family.metric.empty()) families.push_back(std::move(family));
  return families;
}

std::string GpuPriceMetrics(const std::map<std::string, HourlyPrice>& prices,
                            const std::string& currency) {
  if (prices.empty()) return "";
  MetricFamily family = NewFamily("gpu_hourly_price",
                                  "Price of an hour of each GPU model in the fleet, from --prices.",
                                  prometheus::MetricType::Gauge);
  for (const auto& [model, price] : prices) {
    AddValue(family, static_cast<double>(price.micro_units) / kMicroUnitsInUnit,
             {{"gpu_model", model}, {"currency", currency}});
  }
  return MetricsText({family});
}

}  // namespace gpuscaler
