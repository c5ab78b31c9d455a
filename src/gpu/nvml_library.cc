#include "gpu/nvml_library.h"

#include <dlfcn.h>

#include <initializer_list>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace gpuscaler::nvml {
namespace {

// Binds the first of the symbols that the library has. nvml.h renames calls by macros: a name
// without a suffix is the oldest form. So only symbols with the same arguments are listed together.
template <typename Function>
void Bind(void* library, Function*& function, std::initializer_list<const char*> symbols) {
  for (const char* symbol : symbols) {
    if (function != nullptr) return;
    function = reinterpret_cast<Function*>(dlsym(library, symbol));
  }
}

NvmlFunctions BindAll(void* nvml) {
  NvmlFunctions calls{};
  Bind(nvml, calls.init, {"nvmlInit_v2", "nvmlInit"});
  Bind(nvml, calls.shutdown, {"nvmlShutdown"});
  Bind(nvml, calls.driver_version, {"nvmlSystemGetDriverVersion"});
  Bind(nvml, calls.count, {"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"});
  Bind(nvml, calls.handle_by_index,
       {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"});
  Bind(nvml, calls.uuid, {"nvmlDeviceGetUUID"});
  Bind(nvml, calls.name, {"nvmlDeviceGetName"});
  Bind(nvml, calls.minor_number, {"nvmlDeviceGetMinorNumber"});
  Bind(nvml, calls.utilization, {"nvmlDeviceGetUtilizationRates"});
  Bind(nvml, calls.samples, {"nvmlDeviceGetSamples"});
  Bind(nvml, calls.memory_v2, {"nvmlDeviceGetMemoryInfo_v2"});
  Bind(nvml, calls.memory, {"nvmlDeviceGetMemoryInfo"});
  Bind(nvml, calls.temperature_v, {"nvmlDeviceGetTemperatureV"});
  Bind(nvml, calls.temperature, {"nvmlDeviceGetTemperature"});
  Bind(nvml, calls.power_milliwatts, {"nvmlDeviceGetPowerUsage"});
  Bind(nvml, calls.power_limit_milliwatts, {"nvmlDeviceGetEnforcedPowerLimit"});
  Bind(nvml, calls.pcie_kbps, {"nvmlDeviceGetPcieThroughput"});
  Bind(nvml, calls.fields, {"nvmlDeviceGetFieldValues"});
  Bind(nvml, calls.throttle_reasons,
       {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"});
  Bind(nvml, calls.ecc_errors, {"nvmlDeviceGetTotalEccErrors"});
  Bind(nvml, calls.processes_v3, {"nvmlDeviceGetComputeRunningProcesses_v3"});
  Bind(nvml, calls.processes_v2, {"nvmlDeviceGetComputeRunningProcesses_v2"});
  Bind(nvml, calls.processes_v1, {"nvmlDeviceGetComputeRunningProcesses"});
  Bind(nvml, calls.mps_processes_v3, {"nvmlDeviceGetMPSComputeRunningProcesses_v3"});
  Bind(nvml, calls.process_utilization, {"nvmlDeviceGetProcessUtilization"});
  Bind(nvml, calls.mig_mode, {"nvmlDeviceGetMigMode"});
  Bind(nvml, calls.mig_max_count, {"nvmlDeviceGetMaxMigDeviceCount"});
  Bind(nvml, calls.mig_handle_by_index, {"nvmlDeviceGetMigDeviceHandleByIndex"});
  Bind(nvml, calls.gpu_instance_id, {"nvmlDeviceGetGpuInstanceId"});
  Bind(nvml, calls.p2p_status, {"nvmlDeviceGetP2PStatus"});
  Bind(nvml, calls.fabric_info, {"nvmlDeviceGetGpuFabricInfoV"});
  Bind(nvml, calls.gpm_support, {"nvmlGpmQueryDeviceSupport"});
  Bind(nvml, calls.gpm_sample_alloc, {"nvmlGpmSampleAlloc"});
  Bind(nvml, calls.gpm_sample_free, {"nvmlGpmSampleFree"});
  Bind(nvml, calls.gpm_sample, {"nvmlGpmSampleGet"});
  Bind(nvml, calls.gpm_mig_sample, {"nvmlGpmMigSampleGet"});
  Bind(nvml, calls.gpm_metrics, {"nvmlGpmMetricsGet"});
  return calls;
}

// Returns true if the library has the calls without which nothing can be read.
bool IsNvml(const NvmlFunctions& calls) {
  return calls.init != nullptr && calls.shutdown != nullptr && calls.count != nullptr &&
         calls.handle_by_index != nullptr && calls.uuid != nullptr;
}

}  // namespace

const std::vector<std::string>& LibraryPaths() {
  static const auto& paths = *new std::vector<std::string>{
      "libnvidia-ml.so.1",  // ld.so's search: a driver on the host, or the NVIDIA container runtime
      "/run/nvidia/driver/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1",  // GPU operator
      "/run/nvidia/driver/usr/lib/aarch64-linux-gnu/libnvidia-ml.so.1",
      "/run/nvidia/driver/usr/lib64/libnvidia-ml.so.1",
      "/home/kubernetes/bin/nvidia/lib64/libnvidia-ml.so.1",  // GKE's Container-Optimized OS
      "/usr/lib/wsl/lib/libnvidia-ml.so.1",                   // Windows Subsystem for Linux
  };
  return paths;
}

absl::StatusOr<std::unique_ptr<Library>> Library::Load(const std::vector<std::string>& paths) {
  std::vector<std::string> missing;
  std::string broken;
  for (const std::string& path : paths) {
    void* const loaded = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (loaded == nullptr) {
      const absl::string_view error = dlerror();
      if (absl::EndsWith(error, "No such file or directory")) {
        missing.push_back(path);
      } else {
        absl::StrAppend(&broken, "; ", error);
      }
      continue;
    }
    std::unique_ptr<Library> library(new Library(loaded));
    if (IsNvml(library->calls())) return library;
    absl::StrAppend(&broken, "; ", path, ": has not the calls of NVML");
  }
  return absl::UnavailableError(absl::StrCat("no NVIDIA driver library, libnvidia-ml.so.1",
                                             missing.empty() ? "" : ": not found as ",
                                             absl::StrJoin(missing, ", "), broken));
}

Library::Library(void* library) : library_(library), calls_(BindAll(library)) {}

Library::~Library() { dlclose(library_); }

}  // namespace gpuscaler::nvml
