// Parses the command line into the command, its flags and its arguments.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "app/program.h"

namespace gpuscaler {

struct CommandLine {
  const Command* command = nullptr;
  std::vector<std::string> arguments;
  std::string help;  // if not empty, print this instead of running the command
};

// Parses `args` without the program's name, and sets the flags. Without a command's name, uses the
// first of the program's commands. Returns INVALID_ARGUMENT with the flag or word, what is allowed,
// and the nearest known one.
absl::StatusOr<CommandLine> ParseCommandLine(const Program& program,
                                             const std::vector<std::string>& args);

// Returns the output of --help without a command.
std::string Overview(const Program& program);

}  // namespace gpuscaler
