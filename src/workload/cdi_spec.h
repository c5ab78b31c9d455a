// A CDI specification (Container Device Interface): the device nodes that a container gets.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gpuscaler {

// Key: the name of a device, "dab5ab50-d59a-42a6-af16-cfd4628c0f7a-gpu-0". Value: the paths of its
// own device nodes, "/dev/nvidia0".
using CdiDevices = std::map<std::string, std::vector<std::string>>;

// Parses a specification. INVALID_ARGUMENT: `yaml` is none, or has more than 4096 devices and
// device nodes together.
absl::StatusOr<CdiDevices> ParseCdiSpec(absl::string_view yaml);

}  // namespace gpuscaler
