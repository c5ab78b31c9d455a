#include "gpu/dcgm_schema.h"

#include <cmath>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/printable_text.h"
#include "model/pod.h"

namespace gpuscaler {
namespace {

constexpr double kPercent = 100;  // per ratio of 1

// Names of dcgm_fields.h. From DCGM_FI_DEV_FB_TOTAL on they are not among the exporter's default
// counters. Exporters before 3.3 do not request DCGM_FI_DEV_FB_RESERVED. Exporters report
// DCGM_FI_DEV_GPU_UTIL of MIG instances as 0, or not at all.
constexpr ExporterMetric kDcgmMetrics[] = {
    {.name = "DCGM_FI_DEV_GPU_UTIL", .field = ExporterField::kGpuUtilization},
    {.name = "DCGM_FI_PROF_GR_ENGINE_ACTIVE",
     .field = ExporterField::kEngineActive,
     .scale = kPercent},
    {.name = "DCGM_FI_DEV_MEM_COPY_UTIL", .field = ExporterField::kMemoryUtilization},
    {.name = "DCGM_FI_DEV_FB_USED", .field = ExporterField::kMemoryUsed},
    {.name = "DCGM_FI_DEV_FB_FREE", .field = ExporterField::kMemoryFree},
    {.name = "DCGM_FI_DEV_FB_RESERVED", .field = ExporterField::kMemoryReserved},
    {.name = "DCGM_FI_DEV_GPU_TEMP", .field = ExporterField::kTemperature},
    {.name = "DCGM_FI_DEV_POWER_USAGE", .field = ExporterField::kPower},
    {.name = "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", .field = ExporterField::kEnergy},
    {.name = "DCGM_FI_PROF_PCIE_TX_BYTES", .field = ExporterField::kPcieTx},
    {.name = "DCGM_FI_PROF_PCIE_RX_BYTES", .field = ExporterField::kPcieRx},
    {.name = "DCGM_FI_PROF_DRAM_ACTIVE", .field = ExporterField::kDramActive, .scale = kPercent},
    {.name = "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
     .field = ExporterField::kTensorActive,
     .scale = kPercent},
    {.name = "DCGM_FI_DEV_FB_TOTAL", .field = ExporterField::kMemoryTotal},
    {.name = "DCGM_FI_DEV_ENFORCED_POWER_LIMIT", .field = ExporterField::kPowerLimit},
    {.name = "DCGM_FI_PROF_NVLINK_TX_BYTES", .field = ExporterField::kNvlinkTx},
    {.name = "DCGM_FI_PROF_NVLINK_RX_BYTES", .field = ExporterField::kNvlinkRx},
    {.name = "DCGM_FI_PROF_SM_ACTIVE", .field = ExporterField::kSmActive, .scale = kPercent},
    {.name = "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", .field = ExporterField::kEccUncorrected},
    {.name = "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", .field = ExporterField::kThrottleReasons},
    {.name = "DCGM_FI_DEV_CLOCKS_EVENT_REASONS", .field = ExporterField::kThrottleReasons},
};

constexpr ExporterLabel kUuid = {"UUID", "uuid"};

// Three more values follow each: not found, not supported, not permitted (dcgm_structs.h). Not
// every exporter always leaves such values out.
constexpr double kBlank32 = 0x7ffffff0;
constexpr double kBlankDouble = 0x1p47;  // blanks of 64 bits are above it

bool IsDcgmBlank(double number) {
  return !std::isfinite(number) || number >= kBlankDouble ||
         (number >= kBlank32 && number <= kBlank32 + 3);
}

// Lines of switches, links and CPUs have no UUID.
std::string DcgmKey(const ExpositionSample& sample) {
  const std::string uuid = LabelOf(sample, kUuid);
  return uuid.empty() ? "" : absl::StrCat(uuid, "/", sample.Label("GPU_I_ID"));
}

// No exposition has UUIDs of instances. Theirs begin here as in drivers before 470.
absl::Status DescribeDcgmDevice(const ExpositionSample& sample, ExporterDevice& device) {
  device.uuid = LabelOf(sample, kUuid);
  device.model = BeginningOf(sample.Label("modelName"), kMaxExporterText);
  if (device.uuid.size() > kMaxExporterId ||
      !absl::SimpleAtoi(sample.Label("gpu"), &device.index) || device.index < 0 ||
      device.index > kMaxExporterIndex) {
    return absl::InvalidArgumentError(
        absl::StrCat(sample.name, ": its labels UUID and gpu name no GPU"));
  }
  const std::string instance = sample.Label("GPU_I_ID");
  if (instance.empty()) return absl::OkStatus();
  int number = 0;
  if (!absl::SimpleAtoi(instance, &number) || number < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(sample.name, ": its label GPU_I_ID is no number"));
  }
  device.instance = number;
  device.instance_uuid = absl::StrCat("MIG-", device.uuid, "/", number);
  const std::string profile = sample.Label("GPU_I_PROFILE").substr(0, kLongestLabel);
  if (!profile.empty()) device.profile = absl::StrCat("MIG ", profile);
  return absl::OkStatus();
}

}  // namespace

// The second names of labels are those with --use-old-namespace or before release 4.8.3.
const ExporterSchema& DcgmSchema() {
  static const ExporterSchema& schema =
      *new ExporterSchema{.scheme = "dcgm:",
                          .name = "dcgm-exporter",
                          .port = 9400,
                          .collect_interval = absl::Seconds(30),
                          .stale_after = absl::Seconds(75),
                          .has_kubelet_ids = true,
                          .name_part = "DCGM_",
                          .metrics = kDcgmMetrics,
                          .namespace_name = {"namespace", "pod_namespace"},
                          .pod = {"pod", "pod_name"},
                          .container = {"container", "container_name"},
                          .pod_uid = {"pod_uid"},
                          .driver_version = {"DCGM_FI_DRIVER_VERSION"},
                          .key = DcgmKey,
                          .describe = DescribeDcgmDevice,
                          .is_unknown = IsDcgmBlank};
  return schema;
}

}  // namespace gpuscaler
