// What an agent's message may be: agents may be broken, or nobody's whom we know.
#pragma once

#include "absl/status/status.h"
#include "telemetry.pb.h"

namespace gpuscaler {

// Cuts texts for people to 1 KiB, shortens lists that tenants can make long, and leaves out owners
// that no pod can have. INVALID_ARGUMENT: no node has so many, or nothing that Kubernetes or a
// driver names is called so.
absl::Status BoundMessage(telemetry::v1::Telemetry& message);

// The same of one pod.
absl::Status BoundPod(telemetry::v1::Pod& pod);

}  // namespace gpuscaler
