// The calls of libnvidia-ml.so.1 that the NVML source uses, answered from a file: fake_state.h.
#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "fake_nvml/fake_state.h"

namespace fake_nvml {
namespace {

using namespace gpuscaler::nvml;

// The first memory call counts the reserve since driver 510.
#ifdef FAKE_NVML_OLD
constexpr bool kCountsReserve = false;
#else
constexpr bool kCountsReserve = true;
#endif

// Runs `fill` on the device's object; a missing key is NOT_SUPPORTED.
template <typename Fill>
Return OnDevice(const char* call, Device handle, const Fill& fill) {
  const Found found = Find(StateAfterHang(call), call, handle);
  if (found.result != kSuccess) return found.result;
  try {
    return fill(found.device);
  } catch (const Json::exception&) {
    return kNotSupported;
  }
}

Return CopyText(const Json& text, char* buffer, unsigned length) {
  const auto value = text.get<std::string>();
  if (value.size() >= length) return kInsufficientSize;
  std::memcpy(buffer, value.c_str(), value.size() + 1);
  return kSuccess;
}

template <typename Row>
Return CopyProcesses(const Json& list, unsigned* count, Row* rows) {
  const unsigned room = *count;
  *count = static_cast<unsigned>(list.size());
  if (list.size() > room) return kInsufficientSize;
  for (size_t i = 0; i < list.size(); ++i) {
    rows[i].pid = list[i][0].get<uint32_t>();
    rows[i].memory_bytes = list[i][1].is_null() ? kMemoryNotAvailable : list[i][1].get<uint64_t>();
  }
  return kSuccess;
}

void FillField(const Json& device, Field& field) {
  const bool is_total = field.id == kFieldNvlinkDataTx || field.id == kFieldNvlinkDataRx;
  std::string key = std::to_string(field.id);
  if (field.scope != (is_total ? kAllLinks : 0)) key += "@" + std::to_string(field.scope);
  const auto& fields = device.at("fields");
  field.result = fields.contains(key) ? kSuccess : kNotSupported;
  if (field.result != kSuccess) return;
  field.usec = device.value("field_usec", int64_t{0});
  field.type = field.id == kFieldNvlinkLinkCount ? kUint32 : kUint64;
  field.value.as_uint64 = fields[key].get<uint64_t>();
}

}  // namespace
}  // namespace fake_nvml

namespace gpuscaler::nvml {
struct GpmSampleData {
  std::map<uint32_t, double> busy_usec;  // key: the metric
  double taken_usec = 0;
};
}  // namespace gpuscaler::nvml

using namespace gpuscaler::nvml;
using namespace fake_nvml;

#define FAKE_NVML extern "C" __attribute__((visibility("default"))) Return

FAKE_NVML nvmlInit_v2() { return Initialise(StateAfterHang("nvmlInit_v2")); }

FAKE_NVML nvmlShutdown() {
  ShutDown();
  return kSuccess;
}

FAKE_NVML nvmlSystemGetDriverVersion(char* buffer, unsigned length) {
  return CopyText(ReadState().value("driver_version", "550.54.15"), buffer, length);
}

FAKE_NVML nvmlDeviceGetCount_v2(unsigned* count) {
  const Json state = StateAfterHang(__func__);
  const Return error = LibraryError(state, __func__);
  if (error == kSuccess) *count = static_cast<unsigned>(state["gpus"].size());
  return error;
}

FAKE_NVML nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* handle) {
  *handle = HandleOf(static_cast<int>(index), -1);
  return Find(StateAfterHang(__func__), __func__, *handle).result;
}

FAKE_NVML nvmlDeviceGetUUID(Device handle, char* buffer, unsigned length) {
  return OnDevice(__func__, handle,
                  [&](const Json& gpu) { return CopyText(gpu.at("uuid"), buffer, length); });
}

FAKE_NVML nvmlDeviceGetName(Device handle, char* buffer, unsigned length) {
  return OnDevice(__func__, handle,
                  [&](const Json& gpu) { return CopyText(gpu.at("name"), buffer, length); });
}

FAKE_NVML nvmlDeviceGetMinorNumber(Device handle, unsigned* minor_number) {
  return OnDevice(__func__, handle, [&](const Json& gpu) {
    *minor_number = gpu.at("minor").get<unsigned>();
    return kSuccess;
  });
}

FAKE_NVML nvmlDeviceGetUtilizationRates(Device handle, Utilization* rates) {
  return OnDevice(__func__, handle, [&](const Json& gpu) {
    rates->gpu = gpu.at("utilization").at(0).get<uint32_t>();
    rates->memory = gpu.at("utilization").at(1).get<uint32_t>();
    return kSuccess;
  });
}

FAKE_NVML nvmlDeviceGetSamples(Device handle, int type, uint64_t since, int* value_type,
                               unsigned* count, Sample* samples) {
  return OnDevice(__func__, handle, [&](const Json& gpu) {
    const auto& list = gpu.at(type == kGpuUtilizationSamples ? "gpu_samples" : "memory_samples");
    *value_type = kUint32;
    if (samples == nullptr) {
      *count = static_cast<unsigned>(list.size());
      return kSuccess;
    }
    unsigned used = 0;
    for (const Json& row : list) {
      if (row.at(0).get<uint64_t>() <= since || used == *count) continue;
      samples[used].usec = row[0].get<uint64_t>();
      samples[used++].value.as_uint32 = row.at(1).get<uint32_t>();
    }
    *count = used;
    return used == 0 ? kNotFound : kSuccess;
  });
}

FAKE_NVML nvmlDeviceGetMemoryInfo(Device handle, Memory* memory) {
  return OnDevice(__func__, handle, [&](const Json& gpu) {
    const auto sizes = gpu.at("memory").get<std::vector<uint64_t>>();
    const uint64_t used = kCountsReserve ? sizes.at(1) + sizes.at(2) : sizes.at(2);
    *memory = {sizes.at(0), sizes[0] - used, used};
    return kSuccess;
  });
}

FAKE_NVML nvmlDeviceGetTemperature(Device handle, int, unsigned* celsius) {
  return OnDevice(__func__, handle, [&](const Json& gpu) {
    *celsius = gpu.at("temperature").get<unsigned>();
    return kSuccess;
  });
}

FAKE_NVML nvmlDeviceGetPowerUsage(Device handle, unsigned* milliwatts) {
  return OnDevice(__func__, handle, [&](const Json& gpu) {
    *milliwatts = gpu.at("power").get<unsigned>();
    return kSuccess;
  });
}

FAKE_NVML nvmlDeviceGetEnforcedPowerLimit(Device handle, unsigned* milliwatts) {
  return OnDevice(__func__, handle, [&](const Json& gpu) {
    *milliwatts = gpu.at("power_limit").get<unsigned>();
    return kSuccess;
  });
}

FAKE_NVML nvmlDeviceGetPcieThroughput(Device handle, int direction, unsigned* kbps) {
  return OnDevice(__func__, handle, [&](const Json& gpu) {
    *kbps = gpu.at("pcie").at(static_cast<size_t>(direction)).get<unsigned>();
    return kSuccess;
  });
}

FAKE_NVML nvmlDeviceGetTotalEccErrors(Device handle, int, int, uint64_t* errors) {
  return OnDevice(__func__, handle, [&](const Json& gpu) {
    *errors = gpu.at("ecc").get<uint64_t>();
    return kSuccess;
  });
}

FAKE_NVML nvmlDeviceGetCurrentClocksThrottleReasons(Device handle, uint64_t* reasons) {
  return OnDevice(__func__, handle, [&](const Json& gpu) {
    *reasons = gpu.at("throttle").get<uint64_t>();
    return kSuccess;
  });
}

FAKE_NVML nvmlDeviceGetFieldValues(Device handle, int count, Field* fields) {
  return OnDevice(__func__, handle, [&](const Json& gpu) {
    for (int i = 0; i < count; ++i) FillField(gpu, fields[i]);
    return kSuccess;
  });
}

FAKE_NVML nvmlDeviceGetComputeRunningProcesses(Device handle, unsigned* count, ProcessV1* rows) {
  return OnDevice(__func__, handle,
                  [&](const Json& gpu) { return CopyProcesses(gpu.at("processes"), count, rows); });
}

FAKE_NVML nvmlDeviceGetProcessUtilization(Device handle, ProcessUtilization* rows, unsigned* count,
                                          uint64_t since) {
  return OnDevice(__func__, handle, [&](const Json& gpu) {
    std::vector<ProcessUtilization> used;
    for (const Json& row : gpu.at("process_samples")) {
      if (row.at(0).get<uint64_t>() <= since) continue;
      used.push_back({.pid = row.at(1).get<uint32_t>(),
                      .usec = row[0].get<uint64_t>(),
                      .percent = row.at(2).get<uint32_t>()});
    }
    const unsigned room = *count;
    *count = static_cast<unsigned>(used.size());
    if (used.empty()) return kNotFound;
    if (used.size() > room) return kInsufficientSize;
    std::copy(used.begin(), used.end(), rows);
    return kSuccess;
  });
}

#ifndef FAKE_NVML_OLD

FAKE_NVML nvmlDeviceGetMemoryInfo_v2(Device handle, MemoryV2* memory) {
  if (memory->version != MemoryV2::kVersion) return kInvalidArgument;
  return OnDevice(__func__, handle, [&](const Json& gpu) {
    const auto sizes = gpu.at("memory").get<std::vector<uint64_t>>();
    *memory = {MemoryV2::kVersion, sizes.at(0), sizes.at(1), sizes[0] - sizes[1] - sizes.at(2),
               sizes[2]};
    return kSuccess;
  });
}

FAKE_NVML nvmlDeviceGetTemperatureV(Device handle, Temperature* temperature) {
  if (temperature->version != Temperature::kVersion) return kInvalidArgument;
  return OnDevice(__func__, handle, [&](const Json& gpu) {
    temperature->celsius = gpu.at("temperature").get<int32_t>();
    return kSuccess;
  });
}

FAKE_NVML nvmlDeviceGetCurrentClocksEventReasons(Device handle, uint64_t* reasons) {
  return nvmlDeviceGetCurrentClocksThrottleReasons(handle, reasons);
}

FAKE_NVML nvmlDeviceGetComputeRunningProcesses_v2(Device handle, unsigned* count, Process* rows) {
  return OnDevice(__func__, handle,
                  [&](const Json& gpu) { return CopyProcesses(gpu.at("processes"), count, rows); });
}

FAKE_NVML nvmlDeviceGetComputeRunningProcesses_v3(Device handle, unsigned* count, Process* rows) {
  return OnDevice(__func__, handle,
                  [&](const Json& gpu) { return CopyProcesses(gpu.at("processes"), count, rows); });
}

FAKE_NVML nvmlDeviceGetMPSComputeRunningProcesses_v3(Device handle, unsigned* count,
                                                     Process* rows) {
  return OnDevice(__func__, handle,
                  [&](const Json& gpu) { return CopyProcesses(gpu.at("mps"), count, rows); });
}

FAKE_NVML nvmlDeviceGetMigMode(Device handle, unsigned* now, unsigned* pending) {
  return OnDevice(__func__, handle, [&](const Json& gpu) {
    gpu.at("mig");
    *now = *pending = kMigEnabled;
    return kSuccess;
  });
}

FAKE_NVML nvmlDeviceGetMaxMigDeviceCount(Device handle, unsigned* count) {
  return OnDevice(__func__, handle, [&](const Json&) {
    *count = 7;
    return kSuccess;
  });
}

FAKE_NVML nvmlDeviceGetMigDeviceHandleByIndex(Device handle, unsigned index, Device* instance) {
  const Found found = Find(StateAfterHang(__func__), __func__, handle);
  if (found.result != kSuccess) return found.result;
  if (index >= found.device.value("mig", Json::array()).size()) return kNotFound;
  *instance = HandleOf(found.gpu, static_cast<int>(index));
  return kSuccess;
}

FAKE_NVML nvmlDeviceGetGpuInstanceId(Device handle, unsigned* id) {
  return OnDevice(__func__, handle, [&](const Json& instance) {
    *id = instance.at("gi").get<unsigned>();
    return kSuccess;
  });
}

#ifndef FAKE_NVML_OLD
FAKE_NVML nvmlDeviceGetP2PStatus(Device one, Device other, int capability, int* status) {
  const Json state = StateAfterHang(__func__);
  const Found second = Find(state, __func__, other);
  if (second.result != kSuccess) return second.result;
  return OnDevice(__func__, one, [&](const Json& gpu) {
    const auto& links = gpu.at("links");
    const bool is_linked = std::ranges::find(links, second.device.at("uuid")) != links.end();
    *status = capability == kP2pNvlink && is_linked ? kP2pOk : 1;
    return kSuccess;
  });
}

FAKE_NVML nvmlDeviceGetGpuFabricInfoV(Device handle, FabricInfo* info) {
  return OnDevice(__func__, handle, [&](const Json& gpu) {
    const auto& fabric = gpu.at("fabric");
    if (info->version != FabricInfo::kVersion) return kInvalidArgument;
    info->state = fabric.at("state").get<uint8_t>();
    info->status = fabric.value("status", kSuccess);
    info->clique = fabric.value("clique", 0U);
    const auto cluster = fabric.value("cluster", std::vector<uint8_t>(16));
    std::ranges::copy(cluster, info->cluster_uuid);
    return kSuccess;
  });
}
#endif

FAKE_NVML nvmlGpmQueryDeviceSupport(Device handle, GpmSupport* support) {
  return OnDevice(__func__, handle, [&](const Json& gpu) {
    support->supported = gpu.value("gpm", false) ? 1 : 0;
    return kSuccess;
  });
}

FAKE_NVML nvmlGpmSampleAlloc(GpmSample* sample) {
  *sample = new GpmSampleData;
  return kSuccess;
}

FAKE_NVML nvmlGpmSampleFree(GpmSample sample) {
  delete sample;
  return kSuccess;
}

// Copies the counters of `device`, a GPU or an instance, as they are now.
static void CopyCounters(const Json& gpu, const Json& device, GpmSample sample) {
  sample->taken_usec = gpu.at("field_usec").get<double>();
  sample->busy_usec.clear();
  const Json none = Json::object();
  const auto& counters = device.contains("gpm_usec") ? device["gpm_usec"] : none;
  for (const auto& counter : counters.items()) {
    sample->busy_usec[static_cast<uint32_t>(std::stoul(counter.key()))] =
        counter.value().get<double>();
  }
  if (device.contains("busy_usec")) {
    sample->busy_usec[kGpmGraphicsUtilization] = device["busy_usec"].get<double>();
  }
}

FAKE_NVML nvmlGpmSampleGet(Device handle, GpmSample sample) {
  return OnDevice(__func__, handle, [&](const Json& gpu) {
    CopyCounters(gpu, gpu, sample);
    return kSuccess;
  });
}

FAKE_NVML nvmlGpmMigSampleGet(Device parent, unsigned gpu_instance, GpmSample sample) {
  return OnDevice(__func__, parent, [&](const Json& gpu) {
    for (const Json& instance : gpu.at("mig")) {
      if (instance.at("gi").get<unsigned>() != gpu_instance) continue;
      CopyCounters(gpu, instance, sample);
      return kSuccess;
    }
    return kNotFound;
  });
}

FAKE_NVML nvmlGpmMetricsGet(GpmMetricsGet* get) {
  if (get->version != GpmMetricsGet::kVersion) return kInvalidArgument;
  const double taken = get->later->taken_usec - get->earlier->taken_usec;
  for (uint32_t i = 0; i < get->count; ++i) {
    GpmMetric& metric = get->metrics[i];
    const auto earlier = get->earlier->busy_usec.find(metric.id);
    const auto later = get->later->busy_usec.find(metric.id);
    metric.result = taken > 0 ? kSuccess : kNoData;
    if (earlier == get->earlier->busy_usec.end() || later == get->later->busy_usec.end()) {
      metric.result = kNotSupported;
    }
    if (metric.result == kSuccess) metric.value = 100 * (later->second - earlier->second) / taken;
  }
  return kSuccess;
}

#endif  // FAKE_NVML_OLD
