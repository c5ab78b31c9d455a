#include "gpu/amd_exporter_schema.h"

#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/printable_text.h"

namespace gpuscaler {
namespace {

// Names of pkg/amdgpu/gpuagent/gpuagent_gpu_metrics.go in release 1.5.2. MI300 has package power
// and junction temperature. MI210 has average package power and edge temperature. A partition other
// than 0 reports a power of 0. Activity and ECC are the whole GPU's (docs/configuration/
// metricslist.md). The instantaneous value has a line for each compute die.
constexpr ExporterMetric kAmdExporterMetrics[] = {
    {.name = "gpu_gfx_activity",
     .field = ExporterField::kGpuUtilization,
     .first_instance_only = true},
    {.name = "gpu_gfx_busy_instantaneous", .field = ExporterField::kEngineActive, .is_mean = true},
    {.name = "gpu_umc_activity",
     .field = ExporterField::kMemoryUtilization,
     .first_instance_only = true},
    {.name = "gpu_used_vram", .field = ExporterField::kMemoryUsed},
    {.name = "gpu_total_vram", .field = ExporterField::kMemoryTotal},
    {.name = "gpu_junction_temperature",
     .field = ExporterField::kTemperature,
     .first_instance_only = true},
    {.name = "gpu_edge_temperature",
     .field = ExporterField::kTemperature,
     .first_instance_only = true},
    {.name = "gpu_package_power", .field = ExporterField::kPower, .first_instance_only = true},
    {.name = "gpu_average_package_power",
     .field = ExporterField::kPower,
     .first_instance_only = true},
    {.name = "gpu_power_usage", .field = ExporterField::kPower, .first_instance_only = true},
    {.name = "gpu_energy_consumed", .field = ExporterField::kEnergy, .first_instance_only = true},
    {.name = "gpu_ecc_uncorrect_total",
     .field = ExporterField::kEccUncorrected,
     .first_instance_only = true},
};

// The exporter leaves unknown values out. No counter has such a number.
bool IsNoAmdValue(double number) { return !std::isfinite(number) || number >= 0x1p62; }

// Metrics of the node have no GPU's number.
std::string GpuId(const ExpositionSample& sample) { return sample.Label("gpu_id"); }

bool IsDivided(absl::string_view compute_partitions) {
  return compute_partitions == "dpx" || compute_partitions == "tpx" ||
         compute_partitions == "qpx" || compute_partitions == "cpx";
}

// A GPU that can be divided has a serial number of its own, which its partitions have too. Others
// may be two on one board. In virtual machines there is none. The label gpu_uuid is not used: it
// depends on the exporter's configuration, and partitions have another.
std::string UuidOfGpu(const ExpositionSample& sample, absl::string_view compute_partitions) {
  const std::string serial_number = sample.Label("serial_number");
  if (serial_number.empty() && !IsDivided(compute_partitions)) {
    return absl::StrCat("AMD-", GpuId(sample));
  }
  const bool can_be_divided = compute_partitions == "spx" || IsDivided(compute_partitions);
  return absl::StrCat("AMD-", serial_number,
                      can_be_divided ? "" : absl::StrCat("-", GpuId(sample)));
}

absl::Status DescribeAmdDevice(const ExpositionSample& sample, ExporterDevice& device) {
  if (!absl::SimpleAtoi(GpuId(sample), &device.index) || device.index < 0 ||
      device.index > kMaxExporterIndex) {
    return absl::InvalidArgumentError(absl::StrCat(sample.name, ": its label gpu_id is no number"));
  }
  const std::string compute = sample.Label("gpu_compute_partition_type");
  device.uuid = UuidOfGpu(sample, compute);
  if (device.uuid.size() > kMaxExporterId) {
    return absl::InvalidArgumentError(
        absl::StrCat(sample.name, ": its label serial_number is longer than any"));
  }
  device.model = BeginningOf(LabelOf(sample, {"card_series", "card_model"}), kMaxExporterText);
  int number = 0;
  if (!IsDivided(compute) || !absl::SimpleAtoi(sample.Label("gpu_partition_id"), &number) ||
      number < 0) {
    return absl::OkStatus();
  }
  device.instance = number;
  device.instance_uuid = absl::StrCat(device.uuid, "/", number);
  device.profile = BeginningOf(
      absl::AsciiStrToUpper(absl::StrCat(compute, " ", sample.Label("gpu_memory_partition_type"))),
      kMaxExporterText);
  return absl::OkStatus();
}

}  // namespace

// The exporter keeps what it read from the driver for 15 s (cacheTimer).
const ExporterSchema& AmdExporterSchema() {
  static const ExporterSchema& schema = *new ExporterSchema{.scheme = "amd-exporter:",
                                                            .name = "device-metrics-exporter",
                                                            .port = 5000,
                                                            .collect_interval = absl::Seconds(15),
                                                            .stale_after = absl::Seconds(40),
                                                            .name_part = "gpu_",
                                                            .metrics = kAmdExporterMetrics,
                                                            .namespace_name = {"namespace"},
                                                            .pod = {"pod"},
                                                            .container = {"container"},
                                                            .pod_uid = {"pod_uuid"},
                                                            .driver_version = {"driver_version"},
                                                            .key = GpuId,
                                                            .describe = DescribeAmdDevice,
                                                            .is_unknown = IsNoAmdValue};
  return schema;
}

}  // namespace gpuscaler
