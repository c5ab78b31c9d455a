// The plausible ranges of GPU readings.
#pragma once

#include <string>

#include "model/node_snapshot.h"

namespace gpuscaler {

// Turns implausible readings into gaps. Returns a text on the first one, with its GPU; empty: none.
std::string BoundReadings(NodeSnapshot& snapshot);

}  // namespace gpuscaler
