// dcgm-exporter's page, as it stands there.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gpu/dcgm_field.h"
#include "page/prometheus_text.h"

namespace gpuscaler {

// A container that the page names for a device. The exporter has it from the kubelet, at each
// request for the page.
struct DcgmHolder {
  std::string namespace_name;
  std::string pod;
  std::string pod_uid;  // empty: not told
  std::string container;
  // Percent of the GPU's time that its processes used, where a page tells it beside the GPU's own
  // (--kubernetes-virtual-gpus of exporter 4.8.2 and later).
  std::optional<double> utilization;

  friend bool operator==(const DcgmHolder&, const DcgmHolder&) = default;
};

// A GPU, or an instance of one that is divided.
struct DcgmDevice {
  std::string uuid;  // the GPU's, of an instance too: pages have no UUIDs of instances
  int index = 0;     // DCGM's number of the GPU
  std::string model;
  std::optional<int> gpu_instance;
  std::string profile;  // "1g.10gb"; of a whole GPU empty
  DcgmValues values;
  std::vector<DcgmHolder> holders;

  bool IsSame(const DcgmDevice& other) const {
    return uuid == other.uuid && gpu_instance == other.gpu_instance;
  }
};

struct DcgmExposition {
  std::string driver_version;       // empty: not told
  std::vector<DcgmDevice> devices;  // by index, instance and UUID
};

// More than any node has: 16 GPUs of 7 instances are 112.
constexpr size_t kMostDcgmDevices = 1024;
constexpr size_t kMostDcgmHolders = 1024;  // of one device

// A device that pods share stands on the page once for each of them, every time with the value of
// all of it, unless that stands there without a pod besides. Lines of switches, links and CPUs are
// passed over. INVALID_ARGUMENT: it is no whole page, or none of an exporter's.
absl::StatusOr<DcgmExposition> ReadDcgmExposition(absl::string_view page, ExpositionFormat format);

}  // namespace gpuscaler
