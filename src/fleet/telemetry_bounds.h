// Limits of an agent's message: an agent may be broken, or an unknown process.
#pragma once

#include "absl/status/status.h"
#include "telemetry.pb.h"

namespace gpuscaler {

// Cuts texts for people to 1 KiB, shortens lists that tenants can make long, and drops invalid
// owners. INVALID_ARGUMENT: a count that no node has, or a name that neither Kubernetes nor a
// driver gives.
absl::Status BoundMessage(telemetry::v1::Telemetry& message);

// The same for one pod.
absl::Status BoundPod(telemetry::v1::Pod& pod);

}  // namespace gpuscaler
