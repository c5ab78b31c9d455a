// The line of a value in a JSON text, for errors found after the text was parsed.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace gpuscaler {

// The 1-based line of `path`, spelt as "gpus[1].processes[0].pid"; of an object's member the line
// of its key. 1 when the text has no such path; where it is no JSON, the line on which that showed.
int JsonLine(absl::string_view text, absl::string_view path);

}  // namespace gpuscaler
