// What a trigger can scale on: one commented row a metric type.
#pragma once

#include <optional>
#include <span>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "model/costly_readings.h"
#include "model/gpu_point.h"

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
};

struct MetricTypeInfo {
  MetricType type;
  absl::string_view name;  // metricType's value: "gpu_utilization"
  absl::string_view unit;  // "%", "MiB"
  // Extensive amounts add up over GPUs (MiB, watts, bytes/s); intensive ones do not (percentages,
  // temperature). DESIGN 2 values the two differently.
  bool extensive;
  bool percent;
  bool divisible;         // pods that share a GPU each have their part of it
  CostlyReadings costly;  // what has to be wanted before a sample has it
  GpuReading reading;
  absl::string_view help;
};

// In the order of the enum.
std::span<const MetricTypeInfo> MetricTypes();
const MetricTypeInfo& InfoOf(MetricType type);

// Empty when no metric has that name.
std::optional<MetricType> MetricTypeNamed(absl::string_view name);

}  // namespace gpuscaler
