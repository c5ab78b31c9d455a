// A stranger's text, made safe for logs and messages.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace gpuscaler {

// Returns valid UTF-8 of printable characters, of `longest` bytes at most and "..." behind them if
// the text is longer. A character that moves a terminal, is invisible or changes the direction of
// others, and each byte that is not UTF-8, becomes a "?".
std::string PlainWords(absl::string_view words, size_t longest = 200);

// Returns the text as one line that forges no other and no command of a CI log, for output that
// people read. A character that PlainWords() replaces is escaped instead: "\n", "\x1b", "\u202e";
// a byte that is not UTF-8 as "\xff". The first character of "::" at the beginning and of "##[" or
// "##name[" anywhere is escaped too. All else stays, a backslash too: escaping twice is harmless.
std::string EscapedLine(absl::string_view line);

// Returns each line escaped, with its "\n".
std::string EscapedLines(const std::vector<std::string>& lines);

}  // namespace gpuscaler
