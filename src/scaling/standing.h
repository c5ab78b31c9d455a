// Preallocated VRAM: memory that stands still says nothing about load (DESIGN 2).
#pragma once

#include <span>

#include "absl/time/time.h"
#include "scaling/replica.h"

namespace gpuscaler {

// Whether the memory (percent, as ReplicaSample::metric) of one holder stands: it was above 50 %
// and moved by less than 1 point over `window`, and has not been at 50 % or below since. Samples
// without a value are bridged by those around them.
bool MemoryStands(std::span<const ReplicaSample> samples, absl::Duration window);

}  // namespace gpuscaler
