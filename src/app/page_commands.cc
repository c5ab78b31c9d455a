// `completion`, `man` and `reference`: pages generated from the tables of all commands.
#include <functional>
#include <iostream>

#include "app/commands.h"
#include "app/completion.h"
#include "app/man_page.h"
#include "app/reference_page.h"

namespace gpuscaler {
namespace {

using Rendering = std::string (*)(const std::vector<Command>&);

int Print(Rendering page) {
  std::cout << page(ScalerProgram().commands) << std::flush;
  return kExitOk;
}

int Complete(const std::vector<std::string>& arguments) {
  const std::string shell = arguments.size() == 1 ? arguments.front() : "";
  if (shell == "bash") return Print(BashCompletion);
  if (shell == "zsh") return Print(ZshCompletion);
  if (shell == "fish") return Print(FishCompletion);
  return Fail("keda-gpu-scaler completion", absl::InvalidArgumentError("use bash, zsh or fish"),
              kExitUsage);
}

}  // namespace

Command CompletionCommand() {
  return {.name = "completion",
          .help = "Print the completion script of a shell.",
          .arguments = "bash|zsh|fish",
          .run = Complete};
}

Command ManCommand() {
  return {.name = "man",
          .help = "Print the manual page: keda-gpu-scaler man | man -l -",
          .run = [](const std::vector<std::string>&) { return Print(ManPage); }};
}

Command ReferenceCommand() {
  return {.name = "reference",
          .help = "Print docs/reference.md.",
          .run = [](const std::vector<std::string>&) { return Print(ReferencePage); },
          .hidden = true};
}

}  // namespace gpuscaler
