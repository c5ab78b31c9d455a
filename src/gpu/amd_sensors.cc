#include "gpu/amd_sensors.h"

#include <initializer_list>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gpu/sysfs_file.h"

namespace gpuscaler {
namespace {

void AddGap(GpuField field, std::string detail, GpuSample& sample) {
  sample.gaps.push_back({field, GpuGap::Reason::kFailed, std::move(detail)});
}

// Returns nullopt if the device lacks the file, or with a gap if it cannot be read.
std::optional<int64_t> ReadNumber(const std::string& path, GpuField field, GpuSample& sample) {
  const auto number = ReadSysfsNumber(path);
  if (number.ok()) return *number;
  const bool has_gap = FindGap(sample, field) != nullptr;
  if (!absl::IsNotFound(number.status()) && !has_gap) {
    AddGap(field, std::string(number.status().message()), sample);
  }
  return std::nullopt;
}

std::string HwmonIn(const std::string& device) {
  const std::string folder = device + "/hwmon";
  for (const std::string& name : NamesInSysfs(folder)) {
    if (absl::StartsWith(name, "hwmon")) return absl::StrCat(folder, "/", name);
  }
  return "";
}

// Returns nullopt if no sensor has the label.
std::optional<std::string> TemperatureLabelled(const std::string& hwmon, absl::string_view label) {
  for (const char* const sensor : {"temp1", "temp2", "temp3"}) {
    const std::string path = absl::StrCat(hwmon, "/", sensor);
    const auto text = ReadSysfs(path + "_label");
    if (text.ok() && *text == label) return path + "_input";
  }
  return std::nullopt;
}

// Prefers the junction, the hottest place: the GPU throttles by it, and MI300 has no edge sensor.
std::string TemperaturePath(const std::string& hwmon) {
  for (const char* const label : {"junction", "edge"}) {
    if (const auto path = TemperatureLabelled(hwmon, label)) return *path;
  }
  return hwmon + "/temp1_input";
}

}  // namespace

bool IsAsleep(const std::string& device) {
  return ReadSysfs(device + "/power/runtime_status").value_or("") == "suspended";
}

void ReadAmdPercent(const std::string& path, GpuField field, std::optional<double> otherwise,
                    GpuSample& sample, std::optional<double>& percent) {
  if (percent) return;
  const auto number = ReadNumber(path, field, sample);
  if (!number) {
    if (FindGap(sample, field) == nullptr) percent = otherwise;
  } else if (*number >= 0 && *number <= 100) {
    percent = static_cast<double>(*number);
  } else {
    AddGap(field, absl::StrCat("the driver reports ", *number, " %"), sample);
  }
}

void ReadAmdMemory(const std::string& device, GpuSample& sample) {
  const auto total = ReadNumber(device + "/mem_info_vram_total", GpuField::kMemory, sample);
  const auto used = ReadNumber(device + "/mem_info_vram_used", GpuField::kMemory, sample);
  if (total && used) SetAmdMemory(*used, *total, sample);
}

void SetAmdMemory(int64_t used, int64_t total, GpuSample& sample) {
  if (used < 0 || used > total) {
    return AddGap(GpuField::kMemory,
                  absl::StrCat("the driver reports ", used, " bytes used of ", total), sample);
  }
  sample.memory_used_bytes = used;
  sample.memory_total_bytes = total;
}

void ReadAmdSensors(const std::string& device, GpuSample& sample) {
  constexpr double kMicro = 1e-6;
  constexpr double kMilli = 1e-3;
  const std::string hwmon = HwmonIn(device);
  if (hwmon.empty()) return;
  // MI200 and older have an average, MI300 has the present power only.
  auto power = ReadNumber(hwmon + "/power1_average", GpuField::kPower, sample);
  if (!power) power = ReadNumber(hwmon + "/power1_input", GpuField::kPower, sample);
  if (power) {
    sample.power_watts = static_cast<double>(*power) * kMicro;
    std::erase_if(sample.gaps, [](const GpuGap& gap) { return gap.field == GpuField::kPower; });
  }
  if (const auto limit = ReadNumber(hwmon + "/power1_cap", GpuField::kPowerLimit, sample)) {
    sample.power_limit_watts = static_cast<double>(*limit) * kMicro;
  }
  const std::string temperature = TemperaturePath(hwmon);
  if (const auto milli = ReadNumber(temperature, GpuField::kTemperature, sample)) {
    sample.temperature_celsius = static_cast<double>(*milli) * kMilli;
  }
}

}  // namespace gpuscaler
