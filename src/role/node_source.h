// The source of a node's readings, as it is configured.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "config/config.h"
#include "gpu/gpu_source.h"

namespace gpuscaler {

// With holders where `config.attribution` is kPage, whose kAuto is decided already
// (open_attribution.h). INVALID_ARGUMENT: as OpenGpuSource(). `clock` outlives it.
absl::StatusOr<std::unique_ptr<GpuSource>> OpenNodeSource(const Config& config,
                                                          const std::string& node,
                                                          const Clock& clock);

}  // namespace gpuscaler
