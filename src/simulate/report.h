// What ways of scaling the same load came to, as a table.
#pragma once

#include <string>
#include <vector>

#include "simulate/fleet.h"

namespace gpuscaler {

// The share of requests that `outcome` served by the end, and how long they waited, beside its
// GPU-seconds; the first row is what the others are measured against.
std::string CostTable(const std::vector<Outcome>& outcomes);

}  // namespace gpuscaler
