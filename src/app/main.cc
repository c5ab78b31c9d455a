// keda-gpu-scaler: one binary, a subcommand for each thing it does.
#include <iostream>
#include <string>
#include <vector>

#include "app/command_line.h"
#include "app/commands.h"
#include "app/exit_codes.h"

namespace gpuscaler {
namespace {

int Run(const std::vector<std::string>& args) {
  const std::vector<Command> commands = AllCommands();
  const std::string first = args.empty() ? "" : args.front();
  if (first == "--version") {
    std::cout << "keda-gpu-scaler " << GPUSCALER_VERSION << "\n";
    return kExitOk;
  }
  if (first == "--help" || first == "-h" || first == "help") {
    std::cout << Overview(commands);
    return kExitOk;
  }
  const auto line = ParseCommandLine(commands, args);
  if (!line.ok()) {
    std::cerr << "keda-gpu-scaler: " << line.status().message() << "\n";
    return kExitUsage;
  }
  if (!line->help.empty()) {
    std::cout << line->help;
    return kExitOk;
  }
  return line->command->run(line->arguments);
}

}  // namespace
}  // namespace gpuscaler

int main(int argc, char** argv) { return gpuscaler::Run({argv + 1, argv + argc}); }
