// One GPU of a simulated node: an entry in the file that --gpu-source file:PATH reads, beside
// those of other engines.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gpuscaler {

// What the driver would say.
struct GpuShown {
  double utilization_percent = 0;
  double memory_percent = 0;  // of the GPU's
  std::optional<pid_t> pid;   // of who holds it; none: it is free
};

// An engine that loads: weights fill the share of memory that it takes, then graph capture works.
// `loaded` is the part of the load time that has passed, 0-1.
GpuShown LoadingGpu(double loaded, double preallocated_percent, pid_t pid);

// The file's text with the entry of that index, which is made where there is none; an empty text is
// a node without GPUs. What is said of other GPUs stays. INVALID_ARGUMENT: it is no such text.
absl::StatusOr<std::string> WithGpuShown(absl::string_view text, int index, const GpuShown& shown);

class GpuSlot {
 public:
  GpuSlot(std::string path, int index) : path_(std::move(path)), index_(index) {}

  // Readers see the old text or the new one, never a part, and engines that write at once wait for
  // each other at PATH.lock. UNAVAILABLE says what cannot be read or written.
  absl::Status Show(const GpuShown& shown) const;

 private:
  const std::string path_;
  const int index_;
};

}  // namespace gpuscaler
