// A terminal without a screen, for programs that draw on one.
#pragma once

#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>

#include "absl/strings/string_view.h"

namespace gpuscaler {

// Not thread-safe.
class PseudoTerminal {
 public:
  PseudoTerminal(unsigned short columns, unsigned short lines)
      : user_(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK)) {
    std::array<char, 64> name{};
    if (grantpt(user_) != 0 || unlockpt(user_) != 0 ||
        ptsname_r(user_, name.data(), name.size()) != 0) {
      std::abort();
    }
    program_ = open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC);
    Resize(columns, lines);
  }
  ~PseudoTerminal() {
    close(program_);
    close(user_);
  }
  PseudoTerminal(const PseudoTerminal&) = delete;
  PseudoTerminal& operator=(const PseudoTerminal&) = delete;

  // The end of the program, for its standard streams.
  int program() const { return program_; }

  // Makes this the controlling terminal and the standard input. Must be called in the child.
  void Control() const {
    setsid();
    ioctl(program_, TIOCSCTTY, 0);
    dup2(program_, STDIN_FILENO);
  }

  void Type(absl::string_view keys) const {
    if (write(user_, keys.data(), keys.size()) != static_cast<ssize_t>(keys.size())) std::abort();
  }

  void Resize(unsigned short columns, unsigned short lines) const {
    const winsize size = {.ws_row = lines, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    ioctl(user_, TIOCSWINSZ, &size);
  }

  // Returns all that the program has written.
  const std::string& Output() {
    std::array<char, 4096> bytes;
    ssize_t count = 0;
    while ((count = read(user_, bytes.data(), bytes.size())) > 0) {
      output_.append(bytes.data(), static_cast<size_t>(count));
    }
    return output_;
  }

  // Returns true if keys are sent at once and without echo.
  bool IsRaw() const {
    termios modes{};
    tcgetattr(program_, &modes);
    return (modes.c_lflag & static_cast<tcflag_t>(ICANON | ECHO)) == 0;
  }

 private:
  const int user_;
  int program_ = -1;
  std::string output_;
};

}  // namespace gpuscaler
