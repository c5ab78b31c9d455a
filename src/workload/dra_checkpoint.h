// The checkpoint of NVIDIA's DRA driver: the claims that it has prepared on this node.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gpuscaler {

struct PreparedDevice {
  std::string uuid;  // "GPU-..." or "MIG-..."; empty: unknown, or not prepared yet
  bool has_admin_access = false;
};

// Key: the claim's UID and the device's name. Each device also has an entry with the name of each
// pod for which the claim is reserved. Drivers until v25.8 need it: the CDI names of their whole
// GPUs have no UIDs, and their checkpoints no names of claims. Such an entry has admin access if
// all its claims have it.
using PreparedDevices = std::map<std::pair<std::string, std::string>, PreparedDevice>;

// Parses the driver's own format, of v25.3.0 and later (cmd/gpu-kubelet-plugin/checkpointv.go).
// Checksums are not checked. INVALID_ARGUMENT: `json` is no such checkpoint.
absl::StatusOr<PreparedDevices> ParseDraCheckpoint(absl::string_view json);

}  // namespace gpuscaler
