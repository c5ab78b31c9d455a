// Which of DCGM's fields are read from dcgm-exporter's page, and what their numbers mean.
#pragma once

#include <array>
#include <optional>

#include "absl/strings/string_view.h"

namespace gpuscaler {

enum class DcgmField {
  kGpuUtilization,     // percent; of whole GPUs alone: of MIG instances exporters say nothing, or 0
  kEngineActive,       // ratio of time in which graphics or compute engine had work
  kMemoryUtilization,  // percent
  kMemoryUsed,         // MiB, without the reserve
  kMemoryFree,         // MiB
  kMemoryReserved,     // MiB; exporters before 3.3 do not ask for it
  kMemoryTotal,        // MiB
  kTemperature,        // degrees Celsius
  kPower,              // W
  kPowerLimit,         // W, as enforced
  kEnergy,             // mJ since the driver was loaded: it grows with each collection
  kPcieTx,             // bytes/s
  kPcieRx,
  kNvlinkTx,  // bytes/s over all links
  kNvlinkRx,
  kEccUncorrected,   // since the driver was loaded
  kThrottleReasons,  // NVML's bits
  kCount,
};

// One number a field; empty: not on the page, or it says that it is unknown.
using DcgmValues = std::array<std::optional<double>, static_cast<size_t>(DcgmField::kCount)>;

inline std::optional<double>& At(DcgmValues& values, DcgmField field) {
  return values[static_cast<size_t>(field)];
}
inline const std::optional<double>& At(const DcgmValues& values, DcgmField field) {
  return values[static_cast<size_t>(field)];
}

// By the name on the page, which is that of DCGM's header; empty: none that is read.
std::optional<DcgmField> DcgmFieldOf(absl::string_view name);

// Whether DCGM means "unknown" by a number: blank, not found, not supported, not permitted
// (dcgm_structs.h). Exporters leave such values out; not all of them, and not always.
bool IsDcgmBlank(double number);

}  // namespace gpuscaler
