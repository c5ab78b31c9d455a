// One GPU of a simulated node: an entry in the file that --gpu-source file:PATH reads. Other
// engines may write other entries of the file.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gpuscaler {

// The values that a driver would report.
struct GpuReport {
  double utilization_percent = 0;
  double memory_percent = 0;  // share of the GPU memory
  std::optional<pid_t> pid;   // the process on it; empty: free
};

// While an engine loads, weights fill its share of memory, then graphs are captured. `loaded` is
// the elapsed share of the load time, 0-1.
GpuReport LoadingGpu(double loaded, double preallocated_percent, pid_t pid);

// Returns the UUID of a GPU that WithGpuReport() adds.
std::string SimulatedGpuUuid(int index);

// Returns the file's text with the entry of that index, which is added if missing. An empty text is
// a node without GPUs. Other entries are kept. Returns INVALID_ARGUMENT if the text has another
// format.
absl::StatusOr<std::string> WithGpuReport(absl::string_view text, int index,
                                          const GpuReport& report);

// Replaces the file atomically by way of PATH.new. Returns false if it cannot be written.
bool ReplaceGpuFile(const std::string& path, const std::string& text);

// Writes that entry of the file, which is replaced atomically. Engines that write at the same time
// wait for each other at PATH.lock. Returns UNAVAILABLE with the file that cannot be read or
// written.
absl::Status WriteGpuReport(const std::string& path, int index, const GpuReport& report);

}  // namespace gpuscaler
