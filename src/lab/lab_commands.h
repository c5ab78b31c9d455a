// keda-gpu-scaler-lab and its subcommands: what a scaler is tried on, without a GPU or a cluster.
#pragma once

#include <span>

#include "app/command.h"
#include "app/exit_codes.h"
#include "app/program.h"

namespace gpuscaler {

Program LabProgram();

std::span<const ExitCodeInfo> LabExitCodes();

Command DemoCommand();
Command EngineCommand();
Command LoadCommand();

}  // namespace gpuscaler
