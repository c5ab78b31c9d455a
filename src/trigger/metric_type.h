// What a trigger can scale on: one commented row a metric type.
#pragma once

#include <optional>
#include <span>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
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

// Where the number comes from, and so whose it is.
enum class MetricOrigin {
  kGpu,     // GPUs: a replica's
  kEngine,  // inference engines: a replica's too
  kPage,    // a page of metrics: no replica's
  kRedis,   // a queue: no replica's
};

struct MetricTypeInfo {
  MetricType type;
  absl::string_view name;  // metricType's value: "gpu_utilization"
  absl::string_view unit;  // "%", "MiB"
  MetricOrigin origin;
  // Extensive amounts add up over GPUs or engines (MiB, watts, bytes/s, requests); intensive ones
  // do not (percentages, temperature, waits). DESIGN 2 values the two differently.
  bool extensive;
  bool percent;
  bool divisible;         // pods that share a GPU each have their part of it
  CostlyReadings costly;  // what has to be wanted before a sample has it
  // Of kGpu what is read; of kEngine what tells that a replica's GPUs are idle.
  GpuReading reading;
  EngineMetric engine_metric;  // of kEngine
  absl::string_view engine;    // of kEngine: the only one it is of, where its address is named
  RedisQueue::Length length;   // of kRedis
  // One number speaks for the whole window: it comes from counters, and is not smoothed again.
  bool over_window;
  absl::string_view help;
};

// In the order of the enum.
std::span<const MetricTypeInfo> MetricTypes();
const MetricTypeInfo& InfoOf(MetricType type);

// Empty when no metric has that name.
std::optional<MetricType> MetricTypeNamed(absl::string_view name);

// Of a replica, and not of a queue or a gateway.
inline bool IsOfReplicas(MetricOrigin origin) {
  return origin == MetricOrigin::kGpu || origin == MetricOrigin::kEngine;
}

// Where neither metadata nor a profile says how far back is looked (DESIGN 2).
struct DefaultWindows {
  absl::Duration window;
  absl::Duration activation_window;
  // Of a replica of which nobody knows whether it is Ready.
  absl::Duration warmup = absl::ZeroDuration();
};
DefaultWindows DefaultWindowsOf(MetricOrigin origin);

}  // namespace gpuscaler
