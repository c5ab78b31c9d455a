// The file of a simulated node: --gpu-source file:PATH. docs/hardware.md lists the keys.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "model/node_snapshot.h"

namespace gpuscaler {

// One state of the node and how long it lasts.
struct GpuFrame {
  NodeSnapshot snapshot;  // GPUs and driver version; the caller sets time, node and source
  absl::Duration duration = absl::InfiniteDuration();
};

// Returns at least one frame. A file with "gpus" has one frame, which lasts forever. A file with
// "frames" repeats them in order. If a key is missing, the device does not have that reading. If it
// is null, the reading failed (a gap). Returns INVALID_ARGUMENT for text that is not JSON,
// beginning with "line:column:", and for an unknown key, a wrong type or a value out of range,
// beginning with "line:" and mostly the path.
absl::StatusOr<std::vector<GpuFrame>> ParseGpuFile(absl::string_view text);

// `age` is the time since the start of the first frame. The frames repeat.
const GpuFrame& FrameAt(const std::vector<GpuFrame>& frames, absl::Duration age);

}  // namespace gpuscaler
