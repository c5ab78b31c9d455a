// A terminal that a program redraws as a whole, such as top(1) does.
#pragma once

#include <termios.h>

#include <optional>
#include <string>
#include <vector>

#include "app/text_table.h"
#include "app/top_screen.h"

namespace gpuscaler {

// Returns true if standard output is a terminal with cursor movement.
bool HasScreen();

// Returns colours if standard output is such a terminal and NO_COLOR (no-color.org) is not set.
TextStyle StyleOfOutput(bool ascii);

// The size of the terminal on standard output; 80 x 24 if it has none.
TopSize SizeOfOutput();

// The terminal of standard input and output: its alternate screen without a cursor, and keys
// without echo. Keys that raise signals still do. The destructor restores the terminal, so each
// exit of the program must run it. Not thread-safe.
class FullScreen {
 public:
  FullScreen();
  ~FullScreen();
  FullScreen(const FullScreen&) = delete;
  FullScreen& operator=(const FullScreen&) = delete;

  // Draws the lines from the top, and clears the rest. Each line must fit.
  void Draw(const std::vector<std::string>& lines);

  // Restores the terminal, stops the process as Ctrl-Z does, and draws on when it continues.
  void Suspend();

 private:
  void Enter();
  void Leave();

  std::optional<termios> modes_;  // the ones to restore; empty: standard input is no terminal
};

}  // namespace gpuscaler
