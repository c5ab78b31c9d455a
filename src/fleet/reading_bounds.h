// What a GPU can show: what an agent says besides is no reading.
#pragma once

#include <string>

#include "model/node_snapshot.h"

namespace gpuscaler {

// Readings that cannot be become gaps. The first of them in words, with its GPU; empty: all can be.
std::string BoundReadings(NodeSnapshot& snapshot);

}  // namespace gpuscaler
