#include "gpu/nvml_process_usage.h"

#include <algorithm>

namespace gpuscaler::nvml {
namespace {

constexpr unsigned kUsageRows = 128;
constexpr unsigned kMaxUsageRows = 65'536;  // limits the memory whatever the driver returns
constexpr int kReads = 2;                   // the second has the room that the first requires

Return ReadRows(const NvmlFunctions& calls, Device device, uint64_t since,
                std::vector<ProcessUtilization>& rows) {
  unsigned count = kUsageRows;
  Return result = kInsufficientSize;
  for (int i = 0; i < kReads && result == kInsufficientSize; ++i) {
    if (count > kMaxUsageRows) return kInsufficientSize;
    rows.resize(std::max(count, kUsageRows));
    count = static_cast<unsigned>(rows.size());
    result = Call(calls.process_utilization, device, rows.data(), &count, since);
  }
  rows.resize(result == kSuccess ? std::min<size_t>(count, rows.size()) : 0);
  return result;
}

// Returns the mean of the process's rows, 0 if it has none.
double PercentOf(int64_t pid, uint64_t since, const std::vector<ProcessUtilization>& rows) {
  double sum = 0;
  int used = 0;
  for (const ProcessUtilization& row : rows) {
    if (row.pid != pid || row.usec <= since || row.percent > 100) continue;
    sum += row.percent;
    ++used;
  }
  return used == 0 ? 0 : sum / used;
}

}  // namespace

void ProcessUsage::Read(const NvmlFunctions& calls, Device device,
                        std::vector<GpuProcess>& processes) {
  if (processes.size() < 2) return;
  std::vector<ProcessUtilization> rows;
  const Return result = ReadRows(calls, device, newest_usec_, rows);
  if (result != kSuccess && result != kNotFound) return;  // NOT_FOUND: all were idle
  uint64_t newest = newest_usec_;
  for (const ProcessUtilization& row : rows) newest = std::max(newest, row.usec);
  uint64_t from = newest_usec_;
  if (from == 0 && newest > kSecondUsec) from = newest - kSecondUsec;
  newest_usec_ = newest;
  for (GpuProcess& process : processes) {
    process.utilization_percent = PercentOf(process.pid, from, rows);
  }
}

}  // namespace gpuscaler::nvml
