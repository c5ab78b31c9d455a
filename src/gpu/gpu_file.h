// The text of a simulated node: what --gpu-source file:PATH reads. docs/hardware.md lists the
// keys.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "model/node_snapshot.h"

namespace gpuscaler {

// One state of the node, and for how long it shows.
struct GpuFrame {
  NodeSnapshot node;  // GPUs and the driver's version; time, node and source are the caller's
  absl::Duration lasts = absl::InfiniteDuration();
};

// Never empty. A text with "gpus" is one state for ever; one with "frames" shows each in turn, over
// and over. A missing key is a reading that the device does not have; null is one that failed this
// time (a gap). INVALID_ARGUMENT begins with "line:column:" where the text is no JSON, and with
// "line: path:" where it is none of ours: an unknown key, a wrong type, a value out of range.
absl::StatusOr<std::vector<GpuFrame>> ParseGpuFile(absl::string_view text);

// The frame that shows `age` after the first one began.
const GpuFrame& FrameAt(const std::vector<GpuFrame>& frames, absl::Duration age);

}  // namespace gpuscaler
