// The content of dcgm-exporter's exposition.
#pragma once

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gpu/dcgm_field.h"
#include "page/prometheus_text.h"

namespace gpuscaler {

// A container that the exposition names for a device. The exporter queries the kubelet for it at
// each request.
struct DcgmHolder {
  std::string namespace_name;
  std::string pod;
  std::string pod_uid;  // empty: not exported
  std::string container;
  // Percent of the GPU's time that the pod's processes used, if it is exported beside the GPU's own
  // (--kubernetes-virtual-gpus of exporter 4.8.2 and later).
  std::optional<double> utilization;

  friend bool operator==(const DcgmHolder&, const DcgmHolder&) = default;
};

// A GPU, or an instance of one in MIG mode.
struct DcgmDevice {
  std::string uuid;  // the GPU's, even for an instance: no exposition has UUIDs of instances
  int index = 0;     // DCGM's number of the GPU
  std::string model;
  std::optional<int> gpu_instance;
  std::string profile;  // "1g.10gb"; empty for a whole GPU
  DcgmValues values;
  std::vector<DcgmHolder> holders;

  std::tuple<int, std::string, int> Order() const {
    return {index, uuid, gpu_instance.value_or(-1)};
  }
  bool IsSame(const DcgmDevice& other) const {
    return uuid == other.uuid && gpu_instance == other.gpu_instance;
  }
};

struct DcgmExposition {
  std::string driver_version;       // empty: not exported
  std::vector<DcgmDevice> devices;  // sorted by index, instance and UUID
};

// More than any node has: 16 GPUs of 7 instances are 112.
constexpr size_t kMaxDcgmDevices = 1024;
constexpr size_t kMaxDcgmHolders = 1024;  // per device

// Parses an exposition. A shared device has a line for each of its pods. Each of these has the
// value of the whole device, unless a line without a pod has that. Lines of switches, links and
// CPUs are ignored. INVALID_ARGUMENT: the exposition is incomplete, or not that of an exporter.
absl::StatusOr<DcgmExposition> ReadDcgmExposition(absl::string_view page, ExpositionFormat format);

}  // namespace gpuscaler
