// keda-gpu-scaler: one binary, a subcommand for each thing it does.
#include <poll.h>
#include <unistd.h>

#include <csignal>
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

// Of a pipe or socket on standard output: poll(2) says so of them alone.
bool ReaderIsGone() {
  pollfd output = {.fd = STDOUT_FILENO, .events = POLLOUT};
  return poll(&output, 1, 0) == 1 && (output.revents & (POLLERR | POLLHUP)) != 0;
}

// `code`, unless what was printed got lost. Who reads the first lines only, as `head` does, has
// lost nothing.
int WithOutputChecked(int code) {
  if (std::cout.flush() || ReaderIsGone()) return code;
  std::cerr << "keda-gpu-scaler: standard output cannot be written; is the disk full?\n";
  return kExitOutput;
}

}  // namespace
}  // namespace gpuscaler

int main(int argc, char** argv) {
  // Who reads output or log may go: the server stays, and a command tells by its exit code.
  std::signal(SIGPIPE, SIG_IGN);
  return gpuscaler::WithOutputChecked(gpuscaler::Run({argv + 1, argv + argc}));
}
