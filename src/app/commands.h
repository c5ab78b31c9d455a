// All subcommands; the first is the default.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "app/command.h"
#include "app/exit_codes.h"
#include "config/settings.h"

namespace gpuscaler {

std::vector<Command> AllCommands();

Command ServeCommand();
Command GpusCommand();
Command QueryCommand();
Command LintCommand();
Command DemoCommand();
Command EngineCommand();
Command LoadCommand();
Command CompletionCommand();
Command ManCommand();
Command ReferenceCommand();

// Returns --config and the flags of all options that a command with `use` (OptionUse) reads. They
// append their values to `given`, which must outlive them.
std::vector<Flag> ConfigFlags(unsigned use, std::vector<Setting>* given);

// Prints why `command` fails to standard error. Returns kExitUsage for INVALID_ARGUMENT, else
// `otherwise`.
int Fail(absl::string_view command, const absl::Status& why, ExitCode otherwise);

}  // namespace gpuscaler
