// docs/reference.md: every key, metric, profile, flag, variable, exit code and lint rule, generated
// from the code's own tables.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "app/command.h"
#include "app/exit_codes.h"
#include "app/program.h"

namespace gpuscaler {

// Returns the page of a program that has only commands and exit codes.
std::string CommandsPage(const Program& program, std::span<const ExitCodeInfo> exit_codes);

std::string ReferencePage(const std::vector<Command>& commands);

}  // namespace gpuscaler
