// Every subcommand; the first is the default.
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

// The flags of the options that a command with `use` (OptionUse) reads, and --config; what is given
// is appended to `given`, which outlives them.
std::vector<Flag> ConfigFlags(unsigned use, std::vector<Setting>* given);

// Says on standard error why `command` ends, and gives the exit code: kExitUsage for
// INVALID_ARGUMENT, else `otherwise`.
int Fail(absl::string_view command, const absl::Status& why, ExitCode otherwise);

}  // namespace gpuscaler
