// keda-gpu-scaler: one binary with a subcommand per function.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "app/command_line.h"
#include "app/commands.h"
#include "app/exit_codes.h"
#include "base/printable_text.h"

namespace gpuscaler {
namespace {

// Opens closed standard streams. Otherwise the first socket or file would get their descriptor and
// receive what is written to them. Must run before the constructors of libraries, which may open
// files.
void OpenMissingStreams(int /*argc*/, char** /*argv*/, char** /*environment*/) {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // open() uses the lowest free descriptor.
    if (fcntl(stream, F_GETFD) < 0 && open("/dev/null", O_RDWR) != stream) std::abort();
  }
}

__attribute__((section(".preinit_array"),
               used)) void (*const kPreinit)(int, char**, char**) = &OpenMissingStreams;

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
    std::cerr << "keda-gpu-scaler: " << EscapedLine(line.status().message()) << "\n";
    return kExitUsage;
  }
  if (!line->help.empty()) {
    std::cout << line->help;
    return kExitOk;
  }
  return line->command->run(line->arguments);
}

// Returns true if a pipe or socket on standard output has no reader. poll(2) reports this for them
// only.
bool ReaderIsGone() {
  pollfd output = {.fd = STDOUT_FILENO, .events = POLLOUT};
  return poll(&output, 1, 0) == 1 && (output.revents & (POLLERR | POLLHUP)) != 0;
}

// Returns `code` unless output was lost. A reader that takes only the first lines, like `head`,
// loses nothing.
int WithOutputChecked(int code) {
  if (std::cout.flush() || ReaderIsGone()) return code;
  std::cerr << "keda-gpu-scaler: standard output cannot be written; is the disk full?\n";
  return kExitOutput;
}

}  // namespace
}  // namespace gpuscaler

int main(int argc, char** argv) {
  // A broken pipe of output or log must not end the server; commands report it by their exit code.
  std::signal(SIGPIPE, SIG_IGN);
  return gpuscaler::WithOutputChecked(gpuscaler::Run({argv + 1, argv + argc}));
}
