// The content of an exporter's exposition.
#pragma once

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gpu/exporter_field.h"
#include "page/prometheus_text.h"

namespace gpuscaler {

// A container that the exposition names for a device. The exporter queries the kubelet for it at
// each request.
struct ExporterHolder {
  std::string namespace_name;
  std::string pod;
  std::string pod_uid;  // empty: not exported
  std::string container;
  // Percent of the GPU's time that the pod's processes used, if it is exported beside the GPU's own
  // (--kubernetes-virtual-gpus of dcgm-exporter 4.8.2 and later).
  std::optional<double> utilization;

  friend bool operator==(const ExporterHolder&, const ExporterHolder&) = default;
};

// A GPU, an instance of one in MIG mode, or a partition of a divided one of AMD's.
struct ExporterDevice {
  std::string uuid;  // the GPU's, even for an instance
  int index = 0;     // the exporter's number of the GPU: of AMD's partitions the lowest
  std::string model;
  std::optional<int> instance;
  std::string instance_uuid;  // empty for a whole GPU
  std::string profile;        // "MIG 1g.10gb", "CPX NPS1"; empty for a whole GPU
  ExporterValues values;
  std::vector<ExporterHolder> holders;

  std::tuple<int, std::string, int> Order() const { return {index, uuid, instance.value_or(-1)}; }
  bool IsSame(const ExporterDevice& other) const {
    return uuid == other.uuid && instance == other.instance;
  }
};

// The UUID of an instance, or of a whole GPU.
const std::string& UuidOf(const ExporterDevice& device);

struct ExporterExposition {
  std::string driver_version;           // empty: not exported
  std::vector<ExporterDevice> devices;  // sorted by index, instance and UUID
};

struct ExporterSchema;

// More than any node has: 16 GPUs of 8 instances are 128. A reading has 1,024 at most, with the
// GPUs that the instances divide.
constexpr size_t kMaxExporterDevices = 512;
constexpr size_t kMaxExporterHolders = 1024;  // per device

// Parses an exposition. A shared device has a line for each of its pods. Each of these has the
// value of the whole device, unless a line without a pod has that. Lines that are not of a GPU are
// ignored. INVALID_ARGUMENT: the exposition is incomplete, or not that of an exporter.
absl::StatusOr<ExporterExposition> ReadExporterExposition(const ExporterSchema& schema,
                                                          absl::string_view page,
                                                          ExpositionFormat format);

}  // namespace gpuscaler
