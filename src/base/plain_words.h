// What a stranger wrote, for logs and messages.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace gpuscaler {

// Short, and nothing that moves a terminal: what is not printable ASCII is a "?", what is longer
// ends in "...".
std::string PlainWords(absl::string_view words, size_t longest = 200);

}  // namespace gpuscaler
