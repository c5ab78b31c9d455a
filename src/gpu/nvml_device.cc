#include "gpu/nvml_device.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"

#include "gpu/nvml_error.h"
#include "gpu/nvml_processes.h"

namespace gpuscaler::nvml {
namespace {

constexpr unsigned kMaxMigInstances = 16;  // 7 today; limits the loop whatever the driver returns

Return ReadText(Return (*call)(Device, char*, unsigned), Device device, std::string& text) {
  char buffer[kTextSize] = {};
  const Return result = Call(call, device, buffer, kTextSize);
  buffer[kTextSize - 1] = '\0';
  if (result == kSuccess) text = buffer;
  return result;
}

// Sets the value, or a gap if it is impossible: drivers return all ones for "not available"
// (NVML_VALUE_NOT_AVAILABLE).
void SetPercent(GpuField field, unsigned percent, Reading& reading, std::optional<double>& value) {
  if (percent <= 100) {
    value = percent;
  } else {
    reading.AddGap(field, absl::StrCat("the driver reports ", percent, " %"));
  }
}

void SetMemory(uint64_t used, uint64_t total, Reading& reading) {
  if (used > total || total > std::numeric_limits<int64_t>::max()) {
    reading.AddGap(GpuField::kMemory,
                   absl::StrCat("the driver reports ", used, " bytes used of ", total));
    return;
  }
  reading.sample.memory_used_bytes = static_cast<int64_t>(used);
  reading.sample.memory_total_bytes = static_cast<int64_t>(total);
}

}  // namespace

std::unique_ptr<NvmlDevice> NvmlDevice::Open(const NvmlFunctions& calls,
                                             bool processes_v3_is_broken, int index,
                                             Return& failure) {
  Device handle = nullptr;
  failure = calls.handle_by_index(static_cast<unsigned>(index), &handle);
  if (failure != kSuccess) return nullptr;
  std::unique_ptr<NvmlDevice> device(new NvmlDevice(calls, processes_v3_is_broken, index, handle));
  failure = ReadText(calls.uuid, handle, device->uuid_);
  if (failure != kSuccess) return nullptr;
  ReadText(calls.name, handle, device->name_);
  unsigned minor_number = 0;
  if (Call(calls.minor_number, handle, &minor_number) == kSuccess) {
    device->minor_number_ = static_cast<int>(minor_number);
  }
  return device;
}

GpuSample NvmlDevice::Identity() const {
  GpuSample sample;
  sample.uuid = uuid_;
  sample.name = name_;
  sample.index = index_;
  sample.minor_number = minor_number_;
  return sample;
}

DeviceReading NvmlDevice::Read(const CostlyReadings& wanted, absl::Time now,
                               DeviceHistory& history) {
  Reading reading{.sample = Identity()};
  ReadUtilization(history, reading);
  ReadMemory(handle_, history, reading);
  ReadTemperature(reading);
  ReadPower(reading);
  history.throughput.Read(calls_, handle_, wanted.pcie, absl::ToUnixMicros(now), reading);
  ReadProcessList(handle_, reading);
  if (reading.sample.processes) {
    history.process_usage.Read(calls_, handle_, *reading.sample.processes);
  }
  ReadHealth(reading);
  DeviceReading device{.loss = reading.loss};
  if (!reading.answered && reading.loss != kSuccess) {
    device.failure = reading.loss;
    return device;
  }
  device.samples.push_back(std::move(reading.sample));
  ReadMig(wanted, now, history, device);
  ReadActivity(wanted, now, device);
  return device;
}

void NvmlDevice::ReadUtilization(DeviceHistory& history, Reading& reading) const {
  reading.sample.utilization_percent = history.utilization.SinceLastReading(calls_, handle_);
  reading.sample.memory_utilization_percent =
      history.memory_utilization.SinceLastReading(calls_, handle_);
  if (reading.sample.utilization_percent && reading.sample.memory_utilization_percent) return;
  Utilization rates{};
  const Return result = Call(calls_.utilization, handle_, &rates);
  if (!reading.sample.utilization_percent && reading.Succeeded(GpuField::kUtilization, result)) {
    SetPercent(GpuField::kUtilization, rates.gpu, reading, reading.sample.utilization_percent);
  }
  if (!reading.sample.memory_utilization_percent &&
      reading.Succeeded(GpuField::kMemoryUtilization, result)) {
    SetPercent(GpuField::kMemoryUtilization, rates.memory, reading,
               reading.sample.memory_utilization_percent);
  }
}

// Prefers memory_v2: only it separates the driver's reserve, some hundred MiB on an idle GPU. It
// may exist and still fail (WSL), while the old call works. Each device is read by one of them
// only: a switch would make the reserve appear or vanish like load.
void NvmlDevice::ReadMemory(Device device, DeviceHistory& history, Reading& reading) const {
  MemoryV2 v2{.version = MemoryV2::kVersion};
  const Return result = Call(calls_.memory_v2, device, &v2);
  const bool has_worked = history.memory_v2.contains(reading.sample.uuid);
  if (result == kSuccess || (has_worked && !IsUnsupported(result))) {
    if (!reading.Succeeded(GpuField::kMemory, result)) return;
    history.memory_v2.insert(reading.sample.uuid);
    return SetMemory(v2.used, v2.total, reading);
  }
  Memory v1{};
  if (!reading.Succeeded(GpuField::kMemory, Call(calls_.memory, device, &v1))) return;
  SetMemory(v1.used, v1.total, reading);
}

void NvmlDevice::ReadTemperature(Reading& reading) const {
  Temperature versioned{.version = Temperature::kVersion, .sensor = kGpuSensor};
  if (Call(calls_.temperature_v, handle_, &versioned) == kSuccess) {
    reading.answered = true;
    reading.sample.temperature_celsius = versioned.celsius;
    return;
  }
  unsigned celsius = 0;
  const Return result = Call(calls_.temperature, handle_, static_cast<int>(kGpuSensor), &celsius);
  if (reading.Succeeded(GpuField::kTemperature, result)) {
    reading.sample.temperature_celsius = celsius;
  }
}

// Uses GetPowerUsage, like power.draw of nvidia-smi: a mean over one second from Ampere on (except
// GA100). A scaler smooths the value anyway, so a mean is better than an instant.
void NvmlDevice::ReadPower(Reading& reading) const {
  unsigned milliwatts = 0;
  if (reading.Succeeded(GpuField::kPower, Call(calls_.power_milliwatts, handle_, &milliwatts))) {
    reading.sample.power_watts = milliwatts / 1000.0;
  }
  if (reading.Succeeded(GpuField::kPowerLimit,
                        Call(calls_.power_limit_milliwatts, handle_, &milliwatts))) {
    reading.sample.power_limit_watts = milliwatts / 1000.0;
  }
}

void NvmlDevice::ReadHealth(Reading& reading) const {
  uint64_t errors = 0;
  if (reading.Succeeded(GpuField::kEcc, Call(calls_.ecc_errors, handle_, kUncorrectedErrors,
                                             kVolatileCounter, &errors))) {
    reading.sample.ecc_uncorrected_errors = static_cast<int64_t>(errors);
  }
  uint64_t reasons = 0;
  if (reading.Succeeded(GpuField::kThrottle, Call(calls_.throttle_reasons, handle_, &reasons))) {
    reading.sample.throttle_reasons = reasons;
  }
}

void NvmlDevice::ReadProcessList(Device device, Reading& reading) const {
  std::vector<GpuProcess> processes;
  if (reading.Succeeded(GpuField::kProcesses,
                        ReadProcesses(calls_, processes_v3_is_broken_, device, processes))) {
    reading.sample.processes = std::move(processes);
  }
}

// An instance may be destroyed at any time, and its handle with it. So handles are requested again
// at every reading.
void NvmlDevice::ReadMig(const CostlyReadings& wanted, absl::Time now, DeviceHistory& history,
                         DeviceReading& device) {
  unsigned mode = 0;
  unsigned pending = 0;
  const Return mode_result = Call(calls_.mig_mode, handle_, &mode, &pending);
  device.mig_incomplete = mode_result != kSuccess && !IsUnsupported(mode_result);
  if (mode_result != kSuccess || mode != kMigEnabled) {
    std::erase_if(gpm_, [&](const auto& gpm) { return gpm.first != uuid_; });
    return;
  }
  device.samples.front().is_in_mig_mode = true;
  unsigned count = 0;
  if (Call(calls_.mig_max_count, handle_, &count) != kSuccess) {
    device.mig_incomplete = true;
    return;
  }
  for (unsigned i = 0; i < std::min(count, kMaxMigInstances); ++i) {
    Device instance = nullptr;
    Return result = Call(calls_.mig_handle_by_index, handle_, i, &instance);
    if (result == kNotFound) {  // no instance in this place
      history.mig_places.erase(i);
      continue;
    }
    if (result == kSuccess) result = ReadMigInstance(instance, wanted, now, history, device);
    if (result == kSuccess) {
      history.mig_places.insert(i);
    } else if (history.mig_places.contains(i)) {
      device.mig_incomplete = true;  // a place that never answered hides no known instance
    }
  }
  const auto is_gone = [&](const std::string& uuid) {
    return std::ranges::find(device.samples, uuid, &GpuSample::uuid) == device.samples.end();
  };
  std::erase_if(gpm_, [&](const auto& gpm) { return is_gone(gpm.first); });
  if (!device.mig_incomplete) std::erase_if(history.memory_v2, is_gone);
}

// Power, temperature, links and health belong to the whole GPU.
Return NvmlDevice::ReadMigInstance(Device instance, const CostlyReadings& wanted, absl::Time now,
                                   DeviceHistory& history, DeviceReading& device) {
  Reading reading{.sample = Identity()};
  reading.sample.parent_uuid = uuid_;
  const Return result = ReadText(calls_.uuid, instance, reading.sample.uuid);
  if (result != kSuccess) return result;
  ReadText(calls_.name, instance, reading.sample.name);  // else it has its GPU's
  unsigned gpu_instance = 0;
  const Return placed = Call(calls_.gpu_instance_id, instance, &gpu_instance);
  if (placed == kSuccess) reading.sample.gpu_instance = static_cast<int>(gpu_instance);
  ReadMigActivity(placed, wanted, now, reading);
  ReadMemory(instance, history, reading);
  ReadProcessList(instance, reading);
  NoteLoss(reading.loss, device.loss);
  device.samples.push_back(std::move(reading.sample));
  return kSuccess;
}

// Utilization is read at every reading, so the activity costs no other call.
void NvmlDevice::ReadMigActivity(Return placed, const CostlyReadings& wanted, absl::Time now,
                                 Reading& reading) {
  GpmReader& gpm = GpmOf(reading.sample.uuid);
  const Return queried = gpm.Query(handle_, now);
  if (IsUnsupported(queried)) return;
  const Return before = queried == kSuccess ? placed : queried;
  if (before == kSuccess) {
    gpm.Sample(handle_, static_cast<unsigned>(*reading.sample.gpu_instance), now);
  }
  SetGpmUtilization(before, gpm, reading);
  if (wanted.activity) {
    SetActivity(before, gpm, reading);
  } else {
    AddActivityNotWanted(reading);
  }
}

void NvmlDevice::ReadActivity(const CostlyReadings& wanted, absl::Time now, DeviceReading& device) {
  if (device.samples.front().is_in_mig_mode) {
    gpm_.erase(uuid_);  // its instances have the activity
    return;
  }
  GpmReader& gpm = GpmOf(uuid_);
  if (!wanted.activity) gpm.Forget();
  if (IsUnsupported(gpm.Query(handle_, now))) return;
  Reading reading{.sample = std::move(device.samples.front())};
  if (wanted.activity) {
    gpm.Sample(handle_, std::nullopt, now);
    SetActivity(kSuccess, gpm, reading);
  } else {
    AddActivityNotWanted(reading);
  }
  NoteLoss(reading.loss, device.loss);
  device.samples.front() = std::move(reading.sample);
}

GpmReader& NvmlDevice::GpmOf(const std::string& uuid) {
  auto& gpm = gpm_[uuid];
  if (gpm == nullptr) gpm = std::make_unique<GpmReader>(calls_);
  return *gpm;
}

}  // namespace gpuscaler::nvml
