// keda-gpu-scaler-lab and its subcommands: what a scaler is tried on, without a GPU or a cluster.
#pragma once

#include "app/command.h"
#include "app/program.h"

namespace gpuscaler {

Program LabProgram();

Command DemoCommand();
Command EngineCommand();
Command LoadCommand();

}  // namespace gpuscaler
