// The command line: which command, its flags and its arguments.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "app/command.h"

namespace gpuscaler {

struct CommandLine {
  const Command* command = nullptr;
  std::vector<std::string> arguments;
  std::string help;  // asked for: to be printed instead of running the command
};

// `args` without the program's name. Without a command's name in front, the first of `commands` is
// meant. Sets the flags. INVALID_ARGUMENT names the flag or word, what is allowed, and the nearest
// known one.
absl::StatusOr<CommandLine> ParseCommandLine(const std::vector<Command>& commands,
                                             const std::vector<std::string>& args);

// What `keda-gpu-scaler --help` prints.
std::string Overview(const std::vector<Command>& commands);

}  // namespace gpuscaler
