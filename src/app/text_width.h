// The columns that a text takes on a terminal.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace gpuscaler {

// Returns a column for each code point of valid UTF-8. East Asian wide characters and emoji take
// two on a terminal; the names of Kubernetes and the glyphs of charts have none.
size_t TextWidth(absl::string_view text);

// Returns the beginning of the text, at most `width` columns of it.
absl::string_view FirstColumns(absl::string_view text, size_t width);

// Returns the text with blanks up to `width` columns, or its beginning with "…" (ASCII: "~") if it
// is wider.
std::string FittedLeft(absl::string_view text, size_t width, bool ascii);
// The blanks are in front.
std::string FittedRight(absl::string_view text, size_t width, bool ascii);

}  // namespace gpuscaler
