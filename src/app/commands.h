// keda-gpu-scaler and its subcommands.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "app/command.h"
#include "app/exit_codes.h"
#include "app/program.h"
#include "role/settings.h"

namespace gpuscaler {

Program ScalerProgram();

Command ServeCommand();
Command GpusCommand();
Command QueryCommand();
Command LintCommand();
Command ReportCommand();
Command TopCommand();
Command ExplainCommand();
Command CompletionCommand();
Command ManCommand();
Command ReferenceCommand();

// Returns --config and the flags of all options that a command with `use` (OptionUse) reads. They
// append their values to `given`, which must outlive them.
std::vector<Flag> ConfigFlags(unsigned use, std::vector<Setting>* given);

// Prints why `command`, such as "keda-gpu-scaler query", fails to standard error. Returns
// kExitUsage for INVALID_ARGUMENT, else `otherwise`.
int Fail(absl::string_view command, const absl::Status& why, ExitCode otherwise);

}  // namespace gpuscaler
