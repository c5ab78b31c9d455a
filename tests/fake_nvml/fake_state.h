// The fake driver's file, and what the library has read of it.
//
//   {"driver_version": "550.54", "generation": 1,
//    "hang": "nvmlDeviceGetMemoryInfo_v2",      // this call blocks while the key is there
//    "errors": {"nvmlInit_v2": 9},              // of calls on the library itself
//    "gpus": [{
//      "uuid": "GPU-a", "name": "Fake", "error": 15,     // of every call on this GPU
//      "errors": {"nvmlDeviceGetTemperature": 999},      // of one call
//      "utilization": [70, 30], "gpu_samples": [[usec, percent], ...], "memory_samples": [...],
//      "memory": [total, reserved, used], "temperature": 61, "power": mW, "power_limit": mW,
//      "pcie": [tx, rx], "fields": {"138": 1024, "202@3": 7}, "field_usec": 1000000,
//      "processes": [[pid, bytes], ...], "mps": [...], "ecc": 0, "throttle": 0, "minor": 0,
//      "process_samples": [[usec, pid, percent], ...],
//      "links": ["GPU-b"],  // UUIDs of GPUs behind NVLink
//      "fabric": {"state": 3, "status": 0, "cluster": [16 bytes], "clique": 7},
//      "gpm": true, "gpm_usec": {"2": 0, "10": 0},       // counters of GPM's metrics
//      "mig": [{"uuid": "MIG-x", "name", "gi": 1, "busy_usec": 0, "gpm_usec", "memory", ...}]}]}
//
// A field key without a scope is link 0; for 138 and 139 it is all links together. A missing key is
// NOT_SUPPORTED. A generation other than at nvmlInit means a reloaded driver (18) at the top, or a
// replaced GPU (15) in a GPU, until the next nvmlInit.
#pragma once

#include <string>

#include "gpu/nvml_api.h"
#include "nlohmann/json.hpp"

namespace fake_nvml {

using gpuscaler::nvml::Device;
using gpuscaler::nvml::Return;
using Json = nlohmann::json;

// Returns the content of the file in the environment variable FAKE_NVML_STATE, read at every call.
Json ReadState();

// Waits while the file lists `call` under "hang"; returns the state after that.
Json StateAfterHang(const std::string& call);

Return Initialise(const Json& state);
void ShutDown();

// Returns the error that a call on the library must return, or success.
Return LibraryError(const Json& state, const std::string& call);

// Handles contain GPU, MIG instance and nvmlInit count; those of an earlier nvmlInit are invalid.
Device HandleOf(int gpu, int mig);  // mig: -1 for the GPU itself

struct Found {
  Return result;
  Json device;  // the GPU's or the instance's object
  int gpu = -1;
  int mig = -1;
};
Found Find(const Json& state, const std::string& call, Device handle);

}  // namespace fake_nvml
