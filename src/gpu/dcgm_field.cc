#include "gpu/dcgm_field.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gpuscaler {
namespace {

using Row = std::pair<absl::string_view, DcgmField>;

// Names of dcgm_fields.h. From DCGM_FI_DEV_FB_TOTAL on they are not among the exporter's default
// counters.
constexpr Row kRows[] = {
    {"DCGM_FI_DEV_GPU_UTIL", DcgmField::kGpuUtilization},
    {"DCGM_FI_PROF_GR_ENGINE_ACTIVE", DcgmField::kEngineActive},
    {"DCGM_FI_DEV_MEM_COPY_UTIL", DcgmField::kMemoryUtilization},
    {"DCGM_FI_DEV_FB_USED", DcgmField::kMemoryUsed},
    {"DCGM_FI_DEV_FB_FREE", DcgmField::kMemoryFree},
    {"DCGM_FI_DEV_FB_RESERVED", DcgmField::kMemoryReserved},
    {"DCGM_FI_DEV_GPU_TEMP", DcgmField::kTemperature},
    {"DCGM_FI_DEV_POWER_USAGE", DcgmField::kPower},
    {"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", DcgmField::kEnergy},
    {"DCGM_FI_PROF_PCIE_TX_BYTES", DcgmField::kPcieTx},
    {"DCGM_FI_PROF_PCIE_RX_BYTES", DcgmField::kPcieRx},
    {"DCGM_FI_PROF_DRAM_ACTIVE", DcgmField::kDramActive},
    {"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", DcgmField::kTensorActive},
    {"DCGM_FI_DEV_FB_TOTAL", DcgmField::kMemoryTotal},
    {"DCGM_FI_DEV_ENFORCED_POWER_LIMIT", DcgmField::kPowerLimit},
    {"DCGM_FI_PROF_NVLINK_TX_BYTES", DcgmField::kNvlinkTx},
    {"DCGM_FI_PROF_NVLINK_RX_BYTES", DcgmField::kNvlinkRx},
    {"DCGM_FI_PROF_SM_ACTIVE", DcgmField::kSmActive},
    {"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", DcgmField::kEccUncorrected},
    {"DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", DcgmField::kThrottleReasons},
    {"DCGM_FI_DEV_CLOCKS_EVENT_REASONS", DcgmField::kThrottleReasons},
};

// Three more values follow each: not found, not supported, not permitted.
constexpr double kBlank32 = 0x7ffffff0;
constexpr double kBlankDouble = 0x1p47;  // blanks of 64 bits are above it

}  // namespace

std::optional<DcgmField> DcgmFieldOf(absl::string_view name) {
  const auto* const found = std::ranges::find(kRows, name, &Row::first);
  if (found == std::end(kRows)) return std::nullopt;
  return found->second;
}

bool IsDcgmBlank(double number) {
  return !std::isfinite(number) || number >= kBlankDouble ||
         (number >= kBlank32 && number <= kBlank32 + 3);
}

}  // namespace gpuscaler
