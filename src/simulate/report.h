// What ways of scaling the same load came to, as a table.
#pragma once

#include <string>
#include <vector>

#include "simulate/fleet.h"

namespace gpuscaler {

// A row each: GPU-seconds (against those of the first row), requests served and left over, how long
// they waited, replicas at the end.
std::string CostTable(const std::vector<ScenarioResult>& results);

}  // namespace gpuscaler
