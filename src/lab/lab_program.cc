#include <array>
#include <iostream>

#include "app/reference_page.h"
#include "app/version.h"
#include "lab/lab_commands.h"

namespace gpuscaler {
namespace {

Command LabReferenceCommand() {
  return {.name = "reference",
          .help = "Print docs/lab-reference.md.",
          .run =
              [](const std::vector<std::string>&) {
                std::cout << CommandsPage(LabProgram(), LabExitCodes()) << std::flush;
                return kExitOk;
              },
          .hidden = true};
}

}  // namespace

Program LabProgram() {
  return {.name = "keda-gpu-scaler-lab",
          .summary = "simulated inference engines, load and clusters for keda-gpu-scaler",
          .commands = {DemoCommand(), EngineCommand(), LoadCommand(),
                       VersionCommand("keda-gpu-scaler-lab"), LabReferenceCommand()}};
}

std::span<const ExitCodeInfo> LabExitCodes() {
  static constexpr std::array<ExitCodeInfo, 6> kCodes = {{
      {kExitOk, "Done, or stopped in order after SIGTERM or SIGINT."},
      {kExitFindings,
       "demo did not scale from 0 and back, requests of load failed or were not sent, or engine "
       "crashed by --fault."},
      {kExitUsage,
       "Bad usage, or a file that cannot be read; the message names the flag or file, the value, "
       "and what is allowed."},
      {kExitCannotServe, "An address cannot be bound: taken, or not of this host."},
      {kExitUnavailable, "load cannot send: its HTTP client does not open."},
      {kExitOutput,
       "Standard output cannot be written, as on a full disk; a reader that has gone is no error."},
  }};
  return kCodes;
}

}  // namespace gpuscaler
