// Drives the fake libnvidia-ml.so.1 (tests/fake_nvml) from a test of the NVML source.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/test_folder.h"
#include "nlohmann/json.hpp"

namespace gpuscaler {

class FakeDriver {
 public:
  using Json = nlohmann::json;

  FakeDriver() {
    setenv("FAKE_NVML_STATE", path_.c_str(), 1);
    Save();
  }

  // Library paths for NvmlSource: a driver with every call, and one from before 510.
  static std::vector<std::string> New() { return {FAKE_NVML_DIR "/new/libnvidia-ml.so.1"}; }
  static std::vector<std::string> Old() { return {FAKE_NVML_DIR "/old/libnvidia-ml.so.1"}; }

  // The driver's state, as tests/fake_nvml/fake_state.h describes it. Save() applies it.
  Json state = {{"driver_version", "550.54.15"}, {"gpus", {BusyGpu("GPU-a"), BusyGpu("GPU-b")}}};
  Json& Gpu(int index) { return state["gpus"][static_cast<size_t>(index)]; }
  void Save() const {
    std::rename(folder_.Write("state.json.new", state.dump()).c_str(), path_.c_str());
  }

  // The GPU has everything that an H200 has, except NVLink and MIG.
  static Json BusyGpu(const std::string& uuid) {
    return {{"uuid", uuid},
            {"name", "NVIDIA H200"},
            {"utilization", {70, 30}},
            {"memory", {1000, 100, 300}},
            {"temperature", 61},
            {"power", 512'500},
            {"power_limit", 700'000},
            {"pcie", {11, 12}},
            {"fields", Json::object()},
            {"processes", {{42, 200}}},
            {"ecc", 2},
            {"throttle", 4}};
  }

 private:
  const TestFolder folder_;
  const std::string path_ = folder_.PathOf("state.json");
};

}  // namespace gpuscaler
