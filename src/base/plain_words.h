// A stranger's text, made safe for logs and messages.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace gpuscaler {

// Returns valid UTF-8 of printable characters, of `longest` bytes at most and "..." behind them if
// the text is longer. A character that moves a terminal, is invisible or changes the direction of
// others, and each byte that is not UTF-8, becomes a "?".
std::string PlainWords(absl::string_view words, size_t longest = 200);

}  // namespace gpuscaler
