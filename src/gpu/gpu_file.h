// The text of a simulated node: what --gpu-source file:PATH reads. docs/reference.md lists the
// keys.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/node_snapshot.h"

namespace gpuscaler {

// The GPUs and the driver's version; time, node and source are the caller's. A missing key is a
// reading that the device does not have; null is one that failed this time (a gap).
// INVALID_ARGUMENT begins with "line:column:" where the text is no JSON, and with "line: path:"
// where it is none of ours: an unknown key, a wrong type, a value out of range.
absl::StatusOr<NodeSnapshot> ParseGpuFile(absl::string_view text);

}  // namespace gpuscaler
