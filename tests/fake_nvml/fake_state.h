// What the fake driver's file says now, and what of it the library has seen.
//
//   {"driver_version": "550.54", "generation": 1,
//    "hang": "nvmlDeviceGetMemoryInfo_v2",      // this call does not return while this stands here
//    "errors": {"nvmlInit_v2": 9},              // of calls on the library itself
//    "gpus": [{
//      "uuid": "GPU-a", "name": "Fake", "error": 15,     // of every call on this GPU
//      "errors": {"nvmlDeviceGetTemperature": 999},      // of one call
//      "utilization": [70, 30], "gpu_samples": [[usec, percent], ...], "memory_samples": [...],
//      "memory": [total, reserved, used], "temperature": 61, "power": mW, "power_limit": mW,
//      "pcie": [tx, rx], "fields": {"138": 1024, "202@3": 7}, "field_usec": 1000000,
//      "processes": [[pid, bytes], ...], "mps": [...], "ecc": 0, "throttle": 0, "minor": 0,
//      "process_samples": [[usec, pid, percent], ...],
//      "gpm": true, "mig": [{"uuid": "MIG-x", "name", "gi": 1, "busy_usec": 0, "memory", ...}]}]}
//
// A field's key without a scope is that of link 0, of 138 and 139 that of all links together.
// A missing key is NOT_SUPPORTED. Another generation than at nvmlInit, at the top or in a GPU, is a
// reloaded driver (18) or a GPU that was swapped (15) until the next nvmlInit.
#pragma once

#include <string>

#include "gpu/nvml_api.h"
#include "nlohmann/json.hpp"

namespace fake_nvml {

using gpuscaler::nvml::Device;
using gpuscaler::nvml::Return;
using Json = nlohmann::json;

// The file that the environment's FAKE_NVML_STATE names, read anew at every call.
Json ReadState();

// Waits while the file says that `call` hangs; returns the state after that.
Json StateAfterHang(const std::string& call);

Return Initialise(const Json& state);
void ShutDown();

// What a call on the library itself would return before it does anything.
Return LibraryError(const Json& state, const std::string& call);

// Handles name GPU, MIG instance and the nvmlInit they came from; older ones are invalid.
Device HandleOf(int gpu, int mig);  // mig: -1 for the GPU itself

struct Found {
  Return result;
  Json device;  // the GPU's or the instance's object
  int gpu = -1;
  int mig = -1;
};
Found Find(const Json& state, const std::string& call, Device handle);

}  // namespace fake_nvml
