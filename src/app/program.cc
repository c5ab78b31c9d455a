#include "app/program.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "app/command_line.h"
#include "app/exit_codes.h"
#include "app/version.h"
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

int Run(const Program& program, const std::vector<std::string>& args) {
  const std::string first = args.empty() ? "" : args.front();
  if (first == "--version") {
    std::cout << VersionText(program.name) << "\n";
    return kExitOk;
  }
  if (first == "--help" || first == "-h" || first == "help") {
    std::cout << Overview(program);
    return kExitOk;
  }
  const auto line = ParseCommandLine(program, args);
  if (!line.ok()) {
    std::cerr << program.name << ": " << EscapedLine(line.status().message()) << "\n";
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
bool HasLostReader() {
  pollfd output = {.fd = STDOUT_FILENO, .events = POLLOUT};
  return poll(&output, 1, 0) == 1 && (output.revents & (POLLERR | POLLHUP)) != 0;
}

}  // namespace

int RunProgram(const Program& program, int argc, char** argv) {
  // A broken pipe of output or log must not end the server; commands report it by their exit code.
  std::signal(SIGPIPE, SIG_IGN);
  const int code = Run(program, {argv + 1, argv + argc});
  // A reader that takes only the first lines, like `head`, loses nothing.
  if (std::cout.flush() || HasLostReader()) return code;
  std::cerr << program.name << ": standard output cannot be written; is the disk full?\n";
  return kExitOutput;
}

}  // namespace gpuscaler
