// Opens the configured GPU source of a node.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "gpu/gpu_source.h"
#include "role/config.h"

namespace gpuscaler {

// The source sets holders if `config.attribution` is kPage; kAuto must be resolved before
// (open_attribution.h). Returns INVALID_ARGUMENT as OpenGpuSource() does. `clock` must outlive the
// source.
absl::StatusOr<std::unique_ptr<GpuSource>> OpenNodeSource(const Config& config,
                                                          const std::string& node,
                                                          const Clock& clock);

}  // namespace gpuscaler
