#include "gpu/nvml_processes.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "gpu/nvml_error.h"

namespace gpuscaler::nvml {
namespace {

constexpr unsigned kSpareRows = 64;
constexpr unsigned kMaxRows = 65'536;  // limits the memory whatever the driver returns
constexpr int kAttempts = 3;           // processes may start between two calls

template <typename Row>
Return AddList(Return (*list)(Device, unsigned*, Row*), Device device,
               std::vector<GpuProcess>& processes) {
  unsigned count = 0;
  Return result = kInsufficientSize;
  std::vector<Row> rows;
  for (int i = 0; i < kAttempts && result == kInsufficientSize; ++i) {
    if (count > kMaxRows) return kInsufficientSize;
    count += kSpareRows;
    rows.resize(count * kLargestProcessRow / sizeof(Row) + 1);
    result = list(device, &count, rows.data());
  }
  if (result != kSuccess) return result;
  rows.resize(std::min<size_t>(count, rows.size()));
  for (const Row& row : rows) {
    if (std::ranges::any_of(processes, [&](const auto& seen) { return seen.pid == row.pid; })) {
      continue;
    }
    GpuProcess process{.pid = row.pid};
    if (row.memory_bytes != kMemoryNotAvailable) {
      process.memory_bytes = static_cast<int64_t>(row.memory_bytes);
    }
    processes.push_back(process);
  }
  return kSuccess;
}

}  // namespace

bool HasBrokenProcessesV3(absl::string_view driver_version) {
  const std::vector<absl::string_view> parts = absl::StrSplit(driver_version, '.');
  int minor = 0;
  return parts.size() >= 2 && parts[0] == "535" && absl::SimpleAtoi(parts[1], &minor) &&
         minor >= 43 && minor <= 86;
}

Return ReadProcesses(const NvmlFunctions& calls, bool v3_is_broken, Device device,
                     std::vector<GpuProcess>& processes) {
  Return result = kFunctionNotFound;
  if (calls.processes_v3 != nullptr && !v3_is_broken) {
    result = AddList(calls.processes_v3, device, processes);
  } else if (calls.processes_v2 != nullptr) {
    result = AddList(calls.processes_v2, device, processes);
  } else if (calls.processes_v1 != nullptr) {
    result = AddList(calls.processes_v1, device, processes);
  }
  if (result != kSuccess || calls.mps_processes_v3 == nullptr || v3_is_broken) return result;
  const Return mps = AddList(calls.mps_processes_v3, device, processes);
  return IsUnsupported(mps) ? kSuccess : mps;
}

}  // namespace gpuscaler::nvml
