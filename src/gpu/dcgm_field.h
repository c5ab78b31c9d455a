// The DCGM fields that are read from dcgm-exporter's exposition, with their units.
#pragma once

#include <array>
#include <optional>

#include "absl/strings/string_view.h"

namespace gpuscaler {

enum class DcgmField {
  kGpuUtilization,     // percent; whole GPUs only: for MIG instances exporters report nothing, or 0
  kEngineActive,       // ratio of time in which the graphics or compute engine had work
  kMemoryUtilization,  // percent
  kMemoryUsed,         // MiB, without the reserve
  kMemoryFree,         // MiB
  kMemoryReserved,     // MiB; not requested by exporters before 3.3
  kMemoryTotal,        // MiB
  kTemperature,        // degrees Celsius
  kPower,              // W
  kPowerLimit,         // W, as enforced
  kEnergy,             // mJ since the driver was loaded; grows with each collection
  kPcieTx,             // bytes/s
  kPcieRx,
  kNvlinkTx,  // bytes/s over all links
  kNvlinkRx,
  kSmActive,         // ratio of the SMs with work, averaged over time
  kDramActive,       // ratio of time in which the memory interface had work
  kTensorActive,     // ratio of time in which the tensor cores had work
  kEccUncorrected,   // since the driver was loaded
  kThrottleReasons,  // NVML's bits
  kCount,
};

// One number per field. Empty: not exported, or exported as unknown.
using DcgmValues = std::array<std::optional<double>, static_cast<size_t>(DcgmField::kCount)>;

inline std::optional<double>& At(DcgmValues& values, DcgmField field) {
  return values[static_cast<size_t>(field)];
}
inline const std::optional<double>& At(const DcgmValues& values, DcgmField field) {
  return values[static_cast<size_t>(field)];
}

// `name` is that in the exposition and in DCGM's header. Empty: the field is not read.
std::optional<DcgmField> DcgmFieldOf(absl::string_view name);

// Returns true if DCGM means "unknown" by the number: blank, not found, not supported, not
// permitted (dcgm_structs.h). Not every exporter always leaves such values out.
bool IsDcgmBlank(double number);

}  // namespace gpuscaler
