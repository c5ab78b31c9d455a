// The metric types of a trigger: one row each.
#pragma once

#include <optional>
#include <span>

#include "absl/strings/string_view.h"
#include "model/costly_readings.h"
#include "model/engine_metric.h"
#include "model/gpu_point.h"
#include "model/signal_source.h"

namespace gpuscaler {

enum class MetricType {
  kGpuUtilization,
  kMemoryUtilization,
  kMemoryUsedMib,
  kMemoryUsedPercent,
  kTemperature,
  kPowerDraw,
  kPcieTx,
  kPcieRx,
  kNvlinkTx,
  kNvlinkRx,
  kSmActivity,
  kDramActivity,
  kTensorActivity,
  kRequestsWaiting,
  kRequestsRunning,
  kRequestsInFlight,
  kPendingRatio,
  kKvCacheUsagePercent,
  kEnginePressure,
  kQueueWaitMs,
  kRequestRate,
  kTtftMs,
  kTpotMs,
  kDemandReplicas,
  kVllmQueueDepth,
  kVllmKvCacheUsage,
  kTritonQueueWaitMs,
  kTritonRequestRate,
  kPrometheus,
  kRedisStreamLength,
  kRedisStreamLag,
  kRedisStreamPending,
  kRedisListLength,
};

// The source of the number, which decides whether it belongs to a replica.
enum class MetricOrigin {
  kGpu,              // GPUs of a replica
  kEngine,           // inference engine of a replica
  kMetricsEndpoint,  // metrics endpoint of no replica
  kRedis,            // queue of no replica
};

struct MetricTypeInfo {
  MetricType type;
  absl::string_view name;  // the value of metricType: "gpu_utilization"
  absl::string_view unit;  // "%", "MiB"
  MetricOrigin origin;
  // Extensive amounts add up over GPUs or engines (MiB, watts, bytes/s, requests). Intensive ones
  // do not (percentages, temperature, waits). The two are aggregated differently.
  bool extensive;
  bool percent;
  bool divisible;         // pods that share a GPU each have their part of it
  CostlyReadings costly;  // readings to request for it
  // kGpu: the reading. kEngine: the reading that shows whether a replica's GPUs are idle.
  GpuReading reading;
  EngineMetric engine_metric;  // kEngine only
  absl::string_view engine;    // kEngine: the engine at a named address; empty: any
  RedisQueue::Length length;   // kRedis only
  // One number covers the whole window: it comes from counters, and is not smoothed again.
  bool over_window;
  absl::string_view help;
};

// In the order of the enum.
std::span<const MetricTypeInfo> MetricTypes();
const MetricTypeInfo& InfoOf(MetricType type);

// Returns nothing if no metric has that name.
std::optional<MetricType> MetricTypeNamed(absl::string_view name);

// Returns true for a replica's number, and not for that of a queue or a gateway.
inline bool IsOfReplicas(MetricOrigin origin) {
  return origin == MetricOrigin::kGpu || origin == MetricOrigin::kEngine;
}

}  // namespace gpuscaler
