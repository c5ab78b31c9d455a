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
  NodeSnapshot node;  // GPUs and driver version; the caller sets time, node and source
  absl::Duration lasts = absl::InfiniteDuration();
};

// Returns at least one frame. A text with "gpus" is one state that lasts. A text with "frames"
// repeats them in order. A missing key is a reading that the device lacks. Null is a reading that
// failed this time (a gap). INVALID_ARGUMENT begins with "line:column:" if the text is no JSON. It
// begins with "line: path:" if a key is unknown, or if a value has a wrong type or is out of range.
absl::StatusOr<std::vector<GpuFrame>> ParseGpuFile(absl::string_view text);

// Returns the frame at `age` after the first one began.
const GpuFrame& FrameAt(const std::vector<GpuFrame>& frames, absl::Duration age);

}  // namespace gpuscaler
