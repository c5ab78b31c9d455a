// A name that forges a line, a CI command, a terminal escape and the direction of text, for tests
// of output. kEscapedName is the same name after EscapedLine() (printable_text.h).
#pragma once

namespace gpuscaler {

inline constexpr char kHostileName[] = "x\r\n::error::y\x1b[2J\xe2\x80\xae\xe2\x80\xa8";
inline constexpr char kEscapedName[] = R"(x\r\n::error::y\x1b[2J\u202e\u2028)";

}  // namespace gpuscaler
