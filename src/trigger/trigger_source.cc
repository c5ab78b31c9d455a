#include "trigger/trigger_source.h"

#include <algorithm>
#include <string>

namespace gpuscaler {

bool ReadsEngines(const Trigger& trigger) {
  return InfoOf(trigger.metric).origin == MetricOrigin::kEngine;
}

bool ReadsPressure(const Trigger& trigger) {
  return trigger.metric == MetricType::kMemoryUsedPercent &&
         trigger.preallocated_memory == PreallocatedMemory::kPressure;
}

bool CountsPressure(const Trigger& trigger) {
  return trigger.metric == MetricType::kEnginePressure || ReadsPressure(trigger);
}

bool ComputesDemand(const Trigger& trigger) {
  return trigger.metric == MetricType::kDemandReplicas ||
         (CountsPressure(trigger) && trigger.demand != DemandUse::kOff);
}

bool CountsDemand(const Trigger& trigger) {
  return trigger.metric == MetricType::kDemandReplicas ||
         (CountsPressure(trigger) && trigger.demand == DemandUse::kOn);
}

bool CountsHeldRequests(const Trigger& trigger) {
  return ComputesDemand(trigger) && !trigger.metrics_endpoint.url.empty();
}

std::optional<SignalSource> GatewayOf(const Trigger& trigger, absl::string_view namespace_name) {
  if (!CountsHeldRequests(trigger)) return std::nullopt;
  return SignalSource{.namespace_name = std::string(namespace_name),
                      .target = trigger.metrics_endpoint,
                      .credentials = trigger.credentials};
}

EngineQuery GatewayQueryOf(const StalenessLimits& staleness) {
  return {.look_back = staleness.stale_after, .demand_window = kLongestWindow};
}

std::optional<SignalSource> SourceOf(const Trigger& trigger, absl::string_view namespace_name) {
  SignalSource source{.namespace_name = std::string(namespace_name), .target = DiscoveredEngines()};
  switch (InfoOf(trigger.metric).origin) {
    case MetricOrigin::kGpu:
      if (!ReadsPressure(trigger)) return std::nullopt;
      [[fallthrough]];
    case MetricOrigin::kEngine:
      if (!trigger.engine_endpoint.url.empty()) source.target = trigger.engine_endpoint;
      break;
    case MetricOrigin::kMetricsEndpoint:
      source.target = trigger.metrics_endpoint;
      break;
    case MetricOrigin::kRedis:
      source.target = trigger.queue;
      break;
  }
  // Agents send no credentials to the engines that they find, and no token for a gateway goes to
  // engines.
  const bool is_found = std::holds_alternative<DiscoveredEngines>(source.target);
  if (!is_found && !CountsHeldRequests(trigger)) source.credentials = trigger.credentials;
  return source;
}

EngineQuery SourceQueryOf(const Trigger& trigger, const StalenessLimits& staleness) {
  const bool pressure = ReadsPressure(trigger);
  EngineQuery query{
      .metric = pressure ? EngineMetric::kPressurePercent : InfoOf(trigger.metric).engine_metric,
      .model = trigger.model,
      .window = trigger.window,
      .look_back = staleness.stale_after + std::max(trigger.window, trigger.activation_window),
      .max_concurrency = trigger.max_concurrency};
  if (ComputesDemand(trigger)) {
    query.demand_window = kLongestWindow;
    query.ttft_slo = trigger.ttft_slo;
  }
  // Whether an engine was read within forget_after decides what its workload counts.
  if (pressure) query.look_back = std::max(query.look_back, staleness.forget_after);
  return query;
}

absl::Duration SmoothingOf(const Trigger& trigger) {
  const MetricTypeInfo& metric = InfoOf(trigger.metric);
  const bool is_rate =
      metric.origin == MetricOrigin::kMetricsEndpoint && trigger.metrics_endpoint.rate;
  return metric.over_window || is_rate ? absl::ZeroDuration() : trigger.window;
}

}  // namespace gpuscaler
