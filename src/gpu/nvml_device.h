// One GPU behind NVML, with its MIG instances.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gpu/nvml_api.h"
#include "gpu/nvml_gpm.h"
#include "gpu/nvml_process_usage.h"
#include "gpu/nvml_reading.h"
#include "gpu/nvml_throughput.h"
#include "gpu/nvml_utilization.h"
#include "model/costly_readings.h"
#include "model/gpu_sample.h"

namespace gpuscaler::nvml {

// The part of a GPU's earlier readings that the next one needs. It survives a new nvmlInit.
struct DeviceHistory {
  MeanUtilization utilization{kGpuUtilizationSamples};
  MeanUtilization memory_utilization{kMemoryUtilizationSamples};
  Throughput throughput;
  ProcessUsage process_usage;
  std::set<std::string> memory_v2;  // UUIDs, of instances too, with a memory_v2 that has worked
  std::set<unsigned> mig_places;    // places with an instance, as last read
};

struct DeviceReading {
  Return failure = kSuccess;       // why nothing could be read
  Return loss = kSuccess;          // an error that may mean invalid handles (IsLoss)
  std::vector<GpuSample> samples;  // the GPU, then its MIG instances; empty on a failure
  bool mig_incomplete = false;     // some instance could not be identified
};

// Holds a handle, so it must be destroyed before nvmlShutdown. Not thread-safe.
class NvmlDevice {
 public:
  // Returns the driver's `index`-th GPU, or nullptr with `failure` set. `calls` must outlive it.
  static std::unique_ptr<NvmlDevice> Open(const NvmlFunctions& calls, bool processes_v3_is_broken,
                                          int index, Return& failure);

  const std::string& uuid() const { return uuid_; }
  Device handle() const { return handle_; }

  DeviceReading Read(const CostlyReadings& wanted, absl::Time now, DeviceHistory& history);

 private:
  NvmlDevice(const NvmlFunctions& calls, bool processes_v3_is_broken, int index, Device handle)
      : calls_(calls),
        processes_v3_is_broken_(processes_v3_is_broken),
        index_(index),
        handle_(handle) {}

  GpuSample Identity() const;
  void ReadUtilization(DeviceHistory& history, Reading& reading) const;
  void ReadMemory(Device device, DeviceHistory& history, Reading& reading) const;
  void ReadTemperature(Reading& reading) const;
  void ReadPower(Reading& reading) const;
  void ReadHealth(Reading& reading) const;
  void ReadProcessList(Device device, Reading& reading) const;
  void ReadMig(const CostlyReadings& wanted, absl::Time now, DeviceHistory& history,
               DeviceReading& device);
  Return ReadMigInstance(Device instance, const CostlyReadings& wanted, absl::Time now,
                         DeviceHistory& history, DeviceReading& device);
  // `placed`: the result of reading the instance's id on the GPU.
  void ReadMigActivity(Return placed, const CostlyReadings& wanted, absl::Time now,
                       Reading& reading);
  // Reads the activity of a GPU that is not in MIG mode.
  void ReadActivity(const CostlyReadings& wanted, absl::Time now, DeviceReading& device);
  GpmReader& GpmOf(const std::string& uuid);

  const NvmlFunctions& calls_;
  const bool processes_v3_is_broken_;
  const int index_;
  const Device handle_;
  std::string uuid_;
  std::string name_;
  std::optional<int> minor_number_;
  std::map<std::string, std::unique_ptr<GpmReader>> gpm_;  // key: UUID, the GPU's or an instance's
};

}  // namespace gpuscaler::nvml
