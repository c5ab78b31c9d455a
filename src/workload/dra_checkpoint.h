// The checkpoint of NVIDIA's DRA driver: the claims that it has prepared on this node.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gpuscaler {

struct PreparedDevice {
  std::string uuid;  // "GPU-..." or "MIG-..."; empty: not known, or not prepared yet
  bool has_admin_access = false;
};

// Key: the claim's UID and the device's name. The same device is there by the name of each pod that
// the claim is reserved for as well: drivers until v25.8 have UIDs in no CDI name of a whole GPU,
// and claims' names in no checkpoint. That entry has admin access if all such claims have it.
using PreparedDevices = std::map<std::pair<std::string, std::string>, PreparedDevice>;

// The driver's own format, of v25.3.0 and later (cmd/gpu-kubelet-plugin/checkpointv.go). Checksums
// are not checked. INVALID_ARGUMENT: `json` is no such checkpoint.
absl::StatusOr<PreparedDevices> ParseDraCheckpoint(absl::string_view json);

}  // namespace gpuscaler
