// A file that a command is given to read.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace gpuscaler {

// All of `path`; "-" is standard input. INVALID_ARGUMENT, naming it, when it cannot be read or is
// larger than kLargestText.
absl::StatusOr<std::string> ReadInput(const std::string& path);

}  // namespace gpuscaler
