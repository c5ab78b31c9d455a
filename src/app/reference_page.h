// docs/reference.md: every key, metric, profile, flag, variable, exit code and lint rule, generated
// from the code's own tables.
#pragma once

#include <string>
#include <vector>

#include "app/command.h"

namespace gpuscaler {

std::string ReferencePage(const std::vector<Command>& commands);

}  // namespace gpuscaler
