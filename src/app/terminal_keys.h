// The keys that a terminal sends.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace gpuscaler {

enum class KeyCode {
  kCharacter,
  kUp,
  kDown,
  kLeft,
  kRight,
  kPageUp,
  kPageDown,
  kHome,
  kEnd,
  kTab,
  kEnter,
  kEscape,
  kBackspace,
};

struct Key {
  KeyCode code = KeyCode::kCharacter;
  char character = 0;  // printable ASCII, if the code is kCharacter

  friend bool operator==(const Key&, const Key&) = default;
};

// Returns the keys of what one read() of a terminal returned, with the sequences of xterm, the
// Linux console, tmux and screen. Other sequences, control characters and non-ASCII characters are
// left out. A lone ESC byte is the Escape key.
std::vector<Key> KeysOf(absl::string_view bytes);

}  // namespace gpuscaler
