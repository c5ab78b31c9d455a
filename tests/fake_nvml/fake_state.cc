#include "fake_nvml/fake_state.h"

#include <bit>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <thread>
#include <vector>

namespace fake_nvml {
namespace {

using namespace gpuscaler::nvml;

struct Seen {
  std::mutex mutex;
  int initialised = 0;  // nvmlInit minus nvmlShutdown
  uintptr_t epoch = 0;  // counts nvmlInit
  int64_t generation = 0;
  std::vector<int64_t> gpu_generations;
};
Seen& TheSeen() {
  static Seen seen;
  return seen;
}

int64_t Generation(const Json& object) { return object.value("generation", int64_t{0}); }

Return ErrorOf(const Json& object, const std::string& call) {
  const Return all = object.value("error", kSuccess);
  if (all != kSuccess || !object.contains("errors")) return all;
  return object["errors"].value(call, kSuccess);
}

}  // namespace

Json ReadState() {
  const char* path = std::getenv("FAKE_NVML_STATE");
  std::ifstream file(path == nullptr ? "" : path);
  return Json::parse(file, nullptr, false);
}

Json StateAfterHang(const std::string& call) {
  while (true) {
    Json state = ReadState();
    if (!state.is_object() || state.value("hang", "") != call) return state;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

Return Initialise(const Json& state) {
  if (!state.is_object()) return kDriverNotLoaded;
  const Return error = ErrorOf(state, "nvmlInit_v2");
  if (error != kSuccess) return error;
  Seen& seen = TheSeen();
  const std::lock_guard<std::mutex> lock(seen.mutex);
  if (seen.initialised++ > 0) return kSuccess;
  ++seen.epoch;
  seen.generation = Generation(state);
  seen.gpu_generations.clear();
  for (const Json& gpu : state["gpus"]) seen.gpu_generations.push_back(Generation(gpu));
  return kSuccess;
}

void ShutDown() {
  const std::lock_guard<std::mutex> lock(TheSeen().mutex);
  --TheSeen().initialised;
}

Return LibraryError(const Json& state, const std::string& call) {
  Seen& seen = TheSeen();
  const std::lock_guard<std::mutex> lock(seen.mutex);
  if (seen.initialised <= 0) return kUninitialized;
  if (!state.is_object()) return kUnknown;
  if (seen.generation != Generation(state)) return kLibRmVersionMismatch;
  return ErrorOf(state, call);
}

Device HandleOf(int gpu, int mig) {
  const std::lock_guard<std::mutex> lock(TheSeen().mutex);
  return std::bit_cast<Device>(TheSeen().epoch << 16 | static_cast<uintptr_t>(gpu + 1) << 8 |
                               static_cast<uintptr_t>(mig + 1));
}

Found Find(const Json& state, const std::string& call, Device handle) {
  const Return library = LibraryError(state, call);
  if (library != kSuccess) return {library, nullptr};
  const auto bits = reinterpret_cast<uintptr_t>(handle);
  const int gpu = static_cast<int>(bits >> 8 & 0xff) - 1;
  const int mig = static_cast<int>(bits & 0xff) - 1;
  Seen& seen = TheSeen();
  const std::lock_guard<std::mutex> lock(seen.mutex);
  if (bits >> 16 != seen.epoch || gpu < 0) return {kInvalidArgument, nullptr};
  if (gpu >= static_cast<int>(state["gpus"].size())) return {kGpuIsLost, nullptr};
  const auto& parent = state["gpus"][static_cast<size_t>(gpu)];
  if (gpu < static_cast<int>(seen.gpu_generations.size()) &&
      seen.gpu_generations[static_cast<size_t>(gpu)] != Generation(parent)) {
    return {kGpuIsLost, nullptr};
  }
  const Return error = ErrorOf(parent, call);
  if (error != kSuccess || mig < 0) return {error, parent, gpu, mig};
  const Json instances = parent.value("mig", Json::array());
  if (mig >= static_cast<int>(instances.size())) return {kInvalidArgument, nullptr};
  const auto& instance = instances[static_cast<size_t>(mig)];
  return {ErrorOf(instance, call), instance, gpu, mig};
}

}  // namespace fake_nvml
