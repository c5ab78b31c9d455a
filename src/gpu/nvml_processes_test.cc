#include "gpu/nvml_processes.h"

#include "gtest/gtest.h"

namespace gpuscaler::nvml {
namespace {

TEST(HasBrokenProcessesV3, HoldsForTheDriversThatWriteLongRowsOnly) {
  const struct {
    const char* driver_version;
    bool want;
  } rows[] = {{"535.43.02", true}, {"535.54.03", true},  {"535.86.10", true},  {"535.98", false},
              {"535.42", false},   {"525.60.13", false}, {"550.54.15", false}, {"", false},
              {"535", false},      {"535.x", false}};
  for (const auto& row : rows) {
    EXPECT_EQ(HasBrokenProcessesV3(row.driver_version), row.want) << row.driver_version;
  }
}

// A driver of that series: rows of 32 bytes through _v3, 24 through _v2.
Return LongRows(Device, unsigned* count, Process* rows) {
  for (uint32_t i = 0; i < *count; ++i) {
    auto* row = reinterpret_cast<char*>(rows) + i * kLargestProcessRow;
    *reinterpret_cast<Process*>(row) = {.pid = 1};
  }
  return kSuccess;
}
Return ShortRows(Device, unsigned* count, Process* rows) {
  *count = 1;
  rows[0] = {.pid = 7, .memory_bytes = 9};
  return kSuccess;
}

TEST(ReadProcesses, AvoidsTheCallThatWritesLongRows) {
  const NvmlFunctions calls{.processes_v3 = LongRows, .processes_v2 = ShortRows};
  std::vector<GpuProcess> processes;
  ASSERT_EQ(ReadProcesses(calls, true, nullptr, processes), kSuccess);
  ASSERT_EQ(processes.size(), 1);
  EXPECT_EQ(processes[0].pid, 7);
}

TEST(ReadProcesses, LongRowsOfAnUnknownDriverStayInsideTheBuffer) {
  const NvmlFunctions calls{.processes_v3 = LongRows, .processes_v2 = ShortRows};
  std::vector<GpuProcess> processes;
  EXPECT_EQ(ReadProcesses(calls, false, nullptr, processes), kSuccess);
}

Return WildCount(Device, unsigned* count, Process* rows) {
  if (*count > 0) rows[*count - 1] = {.pid = 1};
  *count = ~0u;
  return kInsufficientSize;
}

TEST(ReadProcesses, ImpossibleCountIsAnErrorAndTakesNoMemory) {
  const NvmlFunctions calls{.processes_v3 = WildCount};
  std::vector<GpuProcess> processes;
  EXPECT_EQ(ReadProcesses(calls, false, nullptr, processes), kInsufficientSize);
  EXPECT_TRUE(processes.empty());
}

}  // namespace
}  // namespace gpuscaler::nvml
