// Where GPU readings come from.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "gpu/dcgm_endpoint.h"
#include "model/costly_readings.h"
#include "model/node_snapshot.h"

namespace gpuscaler {

// One thread calls Read(); a call may hang with the driver, and then only that thread hangs.
class GpuSource {
 public:
  virtual ~GpuSource() = default;

  // All GPUs, without holders, or with those that the source itself names; a source that has
  // nothing newer gives what it gave before, with the time of that. UNAVAILABLE when the driver
  // cannot be asked: the text says why, and the next call tries again, no more often than the
  // source's own back-off allows. A single failing device is a gap in its sample and not an error.
  virtual absl::StatusOr<NodeSnapshot> Read(const CostlyReadings& wanted) = 0;
};

// INVALID_ARGUMENT says what --gpu-source may be, without naming it.
absl::Status CheckGpuSource(absl::string_view spec);

// Whether the source's readings come from dcgm-exporter, which may name pods.
bool IsDcgm(absl::string_view spec);

// Of dcgm:URL alone.
struct DcgmOptions {
  DcgmAccess access;
  bool names_pods = false;  // the pods on its page are holders
};

// `spec` is --gpu-source: auto, nvml, file:PATH, dcgm:URL or none; INVALID_ARGUMENT names these for
// any other. A library, file or server that is absent is not an error here: Read() tells, and tries
// again. `clock` outlives the source.
absl::StatusOr<std::unique_ptr<GpuSource>> OpenGpuSource(const std::string& spec,
                                                         const std::string& node,
                                                         const Clock& clock,
                                                         const DcgmOptions& dcgm = {});

}  // namespace gpuscaler
