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

// Devices by name. `by_pod` is for drivers up to v25.8: the CDI names of their whole GPUs have no
// claim UIDs, and their checkpoints no claim names. A device of several claims of one pod has admin
// access only if all of them have it.
struct PreparedDevices {
  using Key = std::pair<std::string, std::string>;  // claim UID or pod name, device name

  std::map<Key, PreparedDevice> by_claim;
  std::map<Key, PreparedDevice> by_pod;  // pods for which a claim of the device is reserved
};

// Parses the driver's own format, of v25.3.0 and later (cmd/gpu-kubelet-plugin/checkpointv.go).
// Checksums are not checked. INVALID_ARGUMENT: `json` is no such checkpoint.
absl::StatusOr<PreparedDevices> ParseDraCheckpoint(absl::string_view json);

}  // namespace gpuscaler
