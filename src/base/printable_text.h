// Untrusted text: whether it is UTF-8, and a form that is safe for logs, messages and terminals.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace gpuscaler {

// Returns true if all of it is UTF-8, as protobuf requires of strings.
bool IsUtf8(absl::string_view text);

// Returns the beginning of a text in UTF-8, at most `longest` bytes of whole characters.
std::string BeginningOf(absl::string_view text, size_t longest);

// Returns valid UTF-8 of printable characters, at most `longest` bytes, followed by "..." if the
// text is longer. A "?" replaces each byte that is not UTF-8 and each character that controls a
// terminal, is invisible or changes the direction of text.
std::string PrintableText(absl::string_view words, size_t longest = 200);

// Returns the text as one line that forges neither another line nor a command in a CI log.
// Characters that PrintableText() replaces are escaped: "\n", "\x1b", "\u202e". A byte that is not
// UTF-8 becomes "\xff". The first character of "::" at the beginning, and of "##[" or "##name["
// anywhere, is escaped too. All else stays, also backslashes: escaping twice is harmless.
std::string EscapedLine(absl::string_view line);

// Each line ends with "\n".
std::string EscapedLines(const std::vector<std::string>& lines);

// Returns the lines of a text, without the empty ones at its end.
std::vector<std::string> LinesWithoutBlankEnd(absl::string_view text);

}  // namespace gpuscaler
