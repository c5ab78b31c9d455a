#include <iostream>

#include "app/exit_codes.h"
#include "app/reference_page.h"
#include "lab/lab_commands.h"

namespace gpuscaler {
namespace {

Command LabReferenceCommand() {
  return {.name = "reference",
          .help = "Print docs/lab-reference.md.",
          .run =
              [](const std::vector<std::string>&) {
                std::cout << CommandsPage(LabProgram()) << std::flush;
                return kExitOk;
              },
          .hidden = true};
}

}  // namespace

Program LabProgram() {
  return {.name = "keda-gpu-scaler-lab",
          .summary = "simulated inference engines, load and clusters for keda-gpu-scaler",
          .commands = {DemoCommand(), EngineCommand(), LoadCommand(), LabReferenceCommand()}};
}

}  // namespace gpuscaler
