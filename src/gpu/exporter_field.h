// The values that are read from an exporter's exposition, with their units.
#pragma once

#include <array>
#include <optional>

namespace gpuscaler {

enum class ExporterField {
  kGpuUtilization,     // percent; whole GPUs only
  kEngineActive,       // percent of time in which the graphics or compute engine had work
  kMemoryUtilization,  // percent
  kMemoryUsed,         // MiB, without the reserve
  kMemoryFree,         // MiB
  kMemoryReserved,     // MiB
  kMemoryTotal,        // MiB
  kTemperature,        // degrees Celsius
  kPower,              // W
  kPowerLimit,         // W, as enforced
  kEnergy,             // in the exporter's own unit; grows with each collection
  kPcieTx,             // bytes/s
  kPcieRx,
  kNvlinkTx,  // bytes/s over all links
  kNvlinkRx,
  kSmActive,         // percent of the SMs with work, averaged over time
  kDramActive,       // percent of time in which the memory interface had work
  kTensorActive,     // percent of time in which the tensor cores had work
  kEccUncorrected,   // since the driver was loaded
  kThrottleReasons,  // NVML's bits
  kCount,
};

// One number per field. Empty: not exported, or exported as unknown.
using ExporterValues =
    std::array<std::optional<double>, static_cast<size_t>(ExporterField::kCount)>;

inline std::optional<double>& At(ExporterValues& values, ExporterField field) {
  return values[static_cast<size_t>(field)];
}
inline const std::optional<double>& At(const ExporterValues& values, ExporterField field) {
  return values[static_cast<size_t>(field)];
}

}  // namespace gpuscaler
