// One GPU, or one MIG instance or partition of a GPU, at one instant.
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
  kSmActivity,
  kDramActivity,
  kTensorActivity,
  kProcesses,
  kEcc,
  kThrottle,
};
absl::string_view Name(GpuField field);  // "utilization"

// Why a field that the device has is empty this time.
struct GpuGap {
  enum class Reason {
    kFailed,        // the call failed: unknown, never 0
    kNotRequested,  // expensive: not requested, or not for long enough
  };
  GpuField field;
  Reason reason;
  std::string detail;  // "NVML error 15 (GPU_IS_LOST)"; may be empty for kNotRequested

  friend bool operator==(const GpuGap&, const GpuGap&) = default;
};
std::string Why(const GpuGap& gap);  // the detail, or that the reading was not requested

struct GpuProcess {
  int64_t pid = 0;  // in the host's pid namespace
  std::optional<int64_t> memory_bytes;
  std::optional<double> utilization_percent;  // 0-100, its part of the GPU's

  friend bool operator==(const GpuProcess&, const GpuProcess&) = default;
};

// The evidence for the shares of pods on one GPU.
enum class SharedBy {
  kEqually,    // none: equal shares
  kParts,      // the fraction or memory that each pod requested
  kProcesses,  // the GPU use of the pods' processes
};

// An empty field with a gap could not be read. An empty field without one does not exist on this
// device. Never 0 instead.
struct GpuSample {
  std::string uuid;                 // GPU-... or MIG-...; of AMD its unique_id, or PCI address
  std::string parent_uuid;          // MIG instances, and partitions of AMD GPUs, only
  std::string name;                 // "NVIDIA H200"; a MIG instance without one has its parent's
  int index = 0;                    // the driver's; a MIG instance has its parent's
  std::optional<int> minor_number;  // as in /dev/nvidia3, which is not the index; empty: unknown
  std::optional<int> gpu_instance;  // MIG instances, and partitions that an exporter reports
  // GPUs with equal groups are linked to each other by NVLink, or of AMD by xGMI. Groups of one
  // name on several nodes are one fabric. Empty: the GPU has no such links, or they are not known.
  std::string link_group;
  // Pods hold MIG instances or partitions of this GPU. The driver may hide them from this process.
  // Not sent to the fleet.
  bool is_in_mig_mode = false;
  // AMD only, never empty there unless an exporter was read: the ids of AMD's device plugin and the
  // names of its DRM devices, as "0000:c1:00.0", "amdgpu_xcp_30", "renderD128" and "card1". A
  // divided GPU has only its card's, as the plugin gives its PCI address to partition 0. Not sent
  // to the fleet.
  std::vector<std::string> device_ids;

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
  std::optional<double> sm_activity_percent;         // 0-100, of the SMs, averaged over time
  std::optional<double> dram_activity_percent;       // 0-100, of the memory bandwidth
  std::optional<double> tensor_activity_percent;     // 0-100, of the tensor cores' time
  std::optional<std::vector<GpuProcess>> processes;  // with a compute context; empty: none runs
  std::optional<int64_t> ecc_uncorrected_errors;     // since the driver was loaded
  std::optional<uint64_t> throttle_reasons;          // NVML's clocks event reasons, a bit set

  std::vector<GpuGap> gaps;

  // Set after the reading, from all readings of the device (workload/holding.h).
  bool in_use = false;  // from the newest reading that could determine it
  // When the current holder was first seen. InfinitePast: the agent started later.
  absl::Time held_since = absl::InfinitePast();
  SteadyMemory steady_memory;  // the current holder's

  std::vector<GpuHolder> holders;  // containers; empty: free or unknown (Attribution)
  // No pod holds any part of the GPU, and it is not divided (model/free_gpus.h). Empty: unknown.
  std::optional<bool> is_free;
  SharedBy shared_by = SharedBy::kEqually;  // evidence for the shares of `holders`, if several
};

// Returns the UUID of a GPU that has not answered since the agent started: "GPU-unknown-3". Its
// first answer has its own UUID.
std::string UnknownGpuUuid(int index);

// Returns true for a MIG instance, and for a partition of an AMD GPU.
inline bool IsMig(const GpuSample& gpu) { return !gpu.parent_uuid.empty(); }

// Returns 0-100; empty if either part is unknown or the total is 0.
std::optional<double> MemoryUsedPercent(const GpuSample& gpu);

// A gap explains why a field is empty. Returns nullptr if the device lacks the field, or if the
// field has a value.
const GpuGap* FindGap(const GpuSample& gpu, GpuField field);

}  // namespace gpuscaler
