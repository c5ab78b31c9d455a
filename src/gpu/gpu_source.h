// The source of GPU readings.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "gpu/exporter_endpoint.h"
#include "gpu/exporter_schema.h"
#include "model/costly_readings.h"
#include "model/node_snapshot.h"

namespace gpuscaler {

// One thread calls Read(). A call may hang with the driver, and blocks only that thread.
class GpuSource {
 public:
  virtual ~GpuSource() = default;

  // Returns all GPUs, without holders unless the source itself names them. A source without a newer
  // reading returns the one before, with its time. UNAVAILABLE: the driver cannot be queried, and
  // the text has the reason. The next call tries again, as often as the source's own back-off
  // allows. A single failing device is a gap in its sample and not an error.
  virtual absl::StatusOr<NodeSnapshot> Read(const CostlyReadings& wanted) = 0;
};

// INVALID_ARGUMENT lists the values that --gpu-source may have, without the flag's name.
absl::Status CheckGpuSource(absl::string_view spec);

// Returns nullptr unless the source is an exporter, which may name pods.
const ExporterSchema* ExporterOf(absl::string_view spec);

// The folder in which Linux has its devices' attributes.
inline constexpr char kSysfs[] = "/sys";

// Options for dcgm:URL and amd-exporter:URL only.
struct ExporterOptions {
  ExporterAccess access;
  bool names_pods = false;  // the pods in its exposition become holders
};

// Opens `spec`, the value of --gpu-source: auto, nvml, amd, file:PATH, dcgm:URL, amd-exporter:URL
// or none. INVALID_ARGUMENT lists these for any other value. An absent library, file or server is
// not an error here: Read() returns it, and tries again. `clock` must outlive the source.
absl::StatusOr<std::unique_ptr<GpuSource>> OpenGpuSource(const std::string& spec,
                                                         const std::string& node,
                                                         const Clock& clock,
                                                         const ExporterOptions& exporter = {},
                                                         const std::string& sysfs_root = kSysfs);

}  // namespace gpuscaler
