// keda-gpu-scaler(1), made from the tables.
#pragma once

#include <string>
#include <vector>

#include "app/command.h"

namespace gpuscaler {

// roff with the man macros.
std::string ManPage(const std::vector<Command>& commands);

}  // namespace gpuscaler
