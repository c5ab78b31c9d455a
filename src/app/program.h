// A program of subcommands: main() and its help.
#pragma once

#include <string>
#include <vector>

#include "app/command.h"

namespace gpuscaler {

struct Program {
  std::string name;
  std::string summary;            // one sentence
  std::vector<Command> commands;  // the first is the default
};

// Runs the command that the arguments name, and returns the exit code. A program that links this
// has its closed standard streams opened before main() and the constructors of libraries.
int RunProgram(const Program& program, int argc, char** argv);

}  // namespace gpuscaler
