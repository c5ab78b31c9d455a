// The GPUs of both vendors on one node: NVIDIA's first, then AMD's.
#pragma once

#include <memory>
#include <string>

#include "gpu/gpu_source.h"

namespace gpuscaler {

// A vendor is expected on the node if its kernel driver is loaded, or if it was read before. If an
// expected vendor cannot be read, its GPUs are unreadable and the other vendor's stay as they are.
// A vendor that is expected and was never read is an error: its GPUs are not known. Not
// thread-safe.
class AutoSource : public GpuSource {
 public:
  AutoSource(std::unique_ptr<GpuSource> nvidia, std::unique_ptr<GpuSource> amd,
             std::string sysfs_root);

  // Without GPUs of AMD the result is NVML's. UNAVAILABLE: an expected vendor was never read, or
  // neither vendor can be read now. The text has the reason. Blocks for one vendor after the other.
  absl::StatusOr<NodeSnapshot> Read(const CostlyReadings& wanted) override;

 private:
  struct Vendor {
    std::unique_ptr<GpuSource> source;
    absl::StatusOr<NodeSnapshot> now = absl::UnavailableError("");
    NodeSnapshot last;  // the last one that could be read
    bool was_read = false;
  };
  static void ReadVendor(const CostlyReadings& wanted, Vendor& vendor);
  static NodeSnapshot WithUnreadable(const Vendor& vendor, const CostlyReadings& wanted);

  const std::string sysfs_root_;
  Vendor nvidia_;
  Vendor amd_;
};

}  // namespace gpuscaler
