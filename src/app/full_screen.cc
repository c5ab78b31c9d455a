#include "app/full_screen.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace gpuscaler {
namespace {

// The sequences of xterm: alternate screen, no cursor, no automatic line break.
constexpr absl::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[?7l";
constexpr absl::string_view kLeave = "\x1b[?7h\x1b[?25h\x1b[?1049l";

std::string EnvironmentText(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

bool HasScreen() {
  const std::string term = EnvironmentText("TERM");
  return isatty(STDOUT_FILENO) != 0 && !term.empty() && term != "dumb";
}

TextStyle StyleOfOutput(bool ascii) {
  return {.color = HasScreen() && EnvironmentText("NO_COLOR").empty(), .ascii = ascii};
}

TopSize SizeOfOutput() {
  winsize size{};
  ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
  return {.width = size.ws_col > 0 ? size.ws_col : size_t{80},
          .height = size.ws_row > 0 ? size.ws_row : size_t{24}};
}

FullScreen::FullScreen() { Enter(); }

FullScreen::~FullScreen() { Leave(); }

void FullScreen::Enter() {
  termios modes{};
  if (tcgetattr(STDIN_FILENO, &modes) == 0) {
    modes_ = modes;
    modes.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    modes.c_cc[VMIN] = 1;
    modes.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSADRAIN, &modes);
  }
  std::cout << kEnter << std::flush;
}

void FullScreen::Leave() {
  std::cout << kLeave << std::flush;
  if (modes_) tcsetattr(STDIN_FILENO, TCSADRAIN, &*modes_);
}

void FullScreen::Draw(const std::vector<std::string>& lines) {
  std::cout << absl::StrCat("\x1b[H", absl::StrJoin(lines, "\x1b[K\r\n"), "\x1b[K\x1b[J")
            << std::flush;
}

void FullScreen::Suspend() {
  Leave();
  kill(getpid(), SIGSTOP);
  Enter();
}

}  // namespace gpuscaler
