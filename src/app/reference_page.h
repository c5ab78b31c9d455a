// docs/reference.md: every key, metric, profile, flag, variable, exit code and lint rule, generated
// from the code's own tables.
#pragma once

#include <string>
#include <vector>

#include "app/command.h"
#include "app/program.h"

namespace gpuscaler {

// The commands of a program alone.
std::string CommandsPage(const Program& program);

std::string ReferencePage(const std::vector<Command>& commands);

}  // namespace gpuscaler
