#include "simulate/gpu_slot.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/file_text.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"

namespace gpuscaler {
namespace {

using OrderedJson = nlohmann::ordered_json;

// Defaults for a GPU that is not in the file: 80 GB. An idle H100 draws about 70 of its 700 W.
constexpr int64_t kMemoryBytes = int64_t{80} << 30;
constexpr double kIdleWatts = 70;
constexpr double kLimitWatts = 700;

constexpr double kWeightsShare = 0.7;  // share of the load time
constexpr double kWeightsUtilizationPercent = 15;
constexpr double kCaptureUtilizationPercent = 95;

// Returns the GPU's entry, which is added if missing, or nullptr if the text has another format.
OrderedJson* EntryOf(OrderedJson& node, int index) {
  if (!node.is_object() || node.contains("frames")) return nullptr;
  OrderedJson& gpus = node["gpus"];
  if (gpus.is_null()) gpus = OrderedJson::array();
  if (!gpus.is_array()) return nullptr;
  for (size_t place = 0; place < gpus.size(); ++place) {
    OrderedJson& gpu = gpus[place];
    if (!gpu.is_object()) return nullptr;
    const OrderedJson own = gpu.value("index", OrderedJson(place));
    if (own == index) return &gpu;
  }
  gpus.push_back(
      {{"index", index}, {"uuid", SimulatedGpuUuid(index)}, {"name", "Simulated 80 GB"}});
  return &gpus.back();
}

void FillEntry(OrderedJson& gpu, const GpuReport& report) {
  if (!gpu.contains("memory_total_bytes")) gpu["memory_total_bytes"] = kMemoryBytes;
  const OrderedJson& total = gpu["memory_total_bytes"];
  const int64_t total_bytes = total.is_number() ? total.get<int64_t>() : kMemoryBytes;
  const auto used_bytes =
      static_cast<int64_t>(report.memory_percent / 100 * static_cast<double>(total_bytes));
  const double busy = report.utilization_percent / 100;
  gpu["utilization_percent"] = report.utilization_percent;
  gpu["memory_utilization_percent"] = 60 * busy;
  gpu["memory_used_bytes"] = used_bytes;
  gpu["temperature_celsius"] = 35 + 35 * busy;
  gpu["power_watts"] = kIdleWatts + (kLimitWatts - kIdleWatts) * busy;
  gpu["power_limit_watts"] = kLimitWatts;
  gpu["processes"] = OrderedJson::array();
  if (report.pid) gpu["processes"].push_back({{"pid", *report.pid}, {"memory_bytes", used_bytes}});
}

}  // namespace

bool ReplaceGpuFile(const std::string& path, const std::string& text) {
  const std::string next = path + ".new";
  std::ofstream file(next, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  std::error_code error;
  if (file) std::filesystem::rename(next, path, error);
  return file && !error;
}

GpuReport LoadingGpu(double loaded, double preallocated_percent, pid_t pid) {
  const double weights = std::min(1.0, loaded / kWeightsShare);
  return {
      .utilization_percent = weights < 1 ? kWeightsUtilizationPercent : kCaptureUtilizationPercent,
      .memory_percent = preallocated_percent * weights,
      .pid = pid};
}

std::string SimulatedGpuUuid(int index) {
  return absl::StrFormat("GPU-00000000-0000-0000-0000-%012d", index);
}

absl::StatusOr<std::string> WithGpuReport(absl::string_view text, int index,
                                          const GpuReport& report) {
  OrderedJson node = text.empty() ? OrderedJson{{"driver_version", "simulated"}}
                                  : OrderedJson::parse(text.begin(), text.end(), nullptr, false);
  OrderedJson* const gpu = EntryOf(node, index);
  if (gpu == nullptr) {
    return absl::InvalidArgumentError(
        "is no list of GPUs such as {\"gpus\": [{\"index\": 0}]} (frames cannot be shared)");
  }
  FillEntry(*gpu, report);
  return node.dump(1) + "\n";
}

absl::Status WriteGpuReport(const std::string& path, int index, const GpuReport& report) {
  const int lock = open((path + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  const absl::Cleanup unlock = [lock] {
    if (lock >= 0) close(lock);
  };
  if (lock < 0 || flock(lock, LOCK_EX) != 0) {
    return absl::UnavailableError(
        absl::StrCat(path, ".lock: cannot be locked: ", std::strerror(errno)));
  }
  std::string text;
  if (std::filesystem::exists(path)) {
    ASSIGN_OR_RETURN(text, ReadFileText(path));
  }
  const auto next = WithGpuReport(text, index, report);
  if (!next.ok()) return absl::UnavailableError(absl::StrCat(path, " ", next.status().message()));
  if (*next == text || ReplaceGpuFile(path, *next)) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(path, ": cannot be written"));
}

}  // namespace gpuscaler
