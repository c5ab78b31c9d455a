// keda-gpu-scaler(1), generated from the tables.
#pragma once

#include <string>
#include <vector>

#include "app/command.h"

namespace gpuscaler {

// Returns roff with the man macros.
std::string ManPage(const std::vector<Command>& commands);

}  // namespace gpuscaler
