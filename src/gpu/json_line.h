// The line of a value in a JSON text, for errors that are found after parsing.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace gpuscaler {

// Lines count from 1. A path is spelt as "gpus[1].processes[0].pid". The line of an object's member
// is that of its key. Returns 1 if the text has no such path, and the line of the syntax error if
// it is no JSON.
int JsonLine(absl::string_view text, absl::string_view path);

// Returns the 1-based line of the first syntax error or out-of-range number.
int JsonErrorLine(absl::string_view text);

}  // namespace gpuscaler
