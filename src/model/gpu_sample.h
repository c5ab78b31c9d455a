// One GPU, or one MIG instance, at one instant.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "model/pod.h"
#include "model/steady_memory.h"

namespace gpuscaler {

// The fields of a GpuSample that can be missing, by the names that logs and JSON use.
enum class GpuField {
  kUtilization,
  kMemoryUtilization,
  kMemory,
  kTemperature,
  kPower,
  kPowerLimit,
  kPcie,
  kNvlink,
  kProcesses,
  kEcc,
  kThrottle,
};
absl::string_view Name(GpuField field);  // "utilization"

// Why a field of a device that has it is empty this time.
struct GpuGap {
  enum class Reason {
    kFailed,        // the call failed: unknown, and never 0
    kNotRequested,  // costly, and nobody asked for it
  };
  GpuField field;
  Reason reason;
  std::string detail;  // "NVML error 15 (GPU_IS_LOST)"

  friend bool operator==(const GpuGap&, const GpuGap&) = default;
};
std::string Why(const GpuGap& gap);  // the detail, or that nobody wanted the reading

struct GpuProcess {
  int64_t pid = 0;  // of the host's pid namespace
  std::optional<int64_t> memory_bytes;
  std::optional<double> utilization_percent;  // 0-100, its part of the GPU's

  friend bool operator==(const GpuProcess&, const GpuProcess&) = default;
};

// The evidence for the shares of pods that hold one GPU together.
enum class SharedBy {
  kEqually,    // none: they are equal
  kParts,      // the fraction or memory of it that each pod has asked for
  kProcesses,  // the use of it by the pods' processes
};

// An empty field with a gap could not be read; an empty field without one does not exist on this
// device. Never 0 instead.
struct GpuSample {
  std::string uuid;                 // GPU-... or MIG-...
  std::string parent_uuid;          // of a MIG instance; else empty
  std::string name;                 // "NVIDIA H200"; of a MIG instance without one its parent's
  int index = 0;                    // the driver's; of a MIG instance its parent's
  std::optional<int> minor_number;  // of /dev/nvidia3, which is not the index; empty: not known
  std::optional<int> gpu_instance;  // of a MIG instance
  // Pods hold MIG instances of it, which the driver may hide from this process. Not sent to the
  // fleet.
  bool is_in_mig_mode = false;

  std::optional<double> utilization_percent;         // 0-100, share of time with a kernel running
  std::optional<double> memory_utilization_percent;  // 0-100, of the memory controller
  std::optional<int64_t> memory_used_bytes;          // without the driver's reserve
  std::optional<int64_t> memory_total_bytes;
  std::optional<double> temperature_celsius;
  std::optional<double> power_watts;
  std::optional<double> power_limit_watts;
  std::optional<double> pcie_tx_kbps;  // KB/s, as NVML counts
  std::optional<double> pcie_rx_kbps;
  std::optional<double> nvlink_tx_mbps;  // MiB/s over all links
  std::optional<double> nvlink_rx_mbps;
  std::optional<std::vector<GpuProcess>> processes;  // with a compute context; empty: none runs
  std::optional<int64_t> ecc_uncorrected_errors;     // since the driver was loaded
  std::optional<uint64_t> throttle_reasons;          // NVML's clocks event reasons, a bit set

  std::vector<GpuGap> gaps;

  // Filled after the reading, by who watches the device over time (workload/holding.h).
  bool in_use = false;  // by the newest reading that could tell
  // When its present holder was first seen; InfinitePast when it was there before we were.
  absl::Time held_since = absl::InfinitePast();
  SteadyMemory steady_memory;  // of that holder

  std::vector<GpuHolder> holders;           // containers; empty: free, or not known (Attribution)
  SharedBy shared_by = SharedBy::kEqually;  // if several pods are among them
};

// The UUID of a GPU that has not answered since the agent started: "GPU-unknown-3". Its own comes
// with its first answer.
std::string UnknownGpuUuid(int index);

inline bool IsMig(const GpuSample& gpu) { return !gpu.parent_uuid.empty(); }

// 0-100; empty when either part is unknown or the total is 0.
std::optional<double> MemoryUsedPercent(const GpuSample& gpu);

// The gap that explains an empty field; null where the device lacks the field or has a value.
const GpuGap* FindGap(const GpuSample& gpu, GpuField field);

}  // namespace gpuscaler
