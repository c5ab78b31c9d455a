// Reads the input file of a command.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace gpuscaler {

// If `path` is "-", reads standard input. Returns INVALID_ARGUMENT with the path if it cannot be
// read or is larger than kLargestText.
absl::StatusOr<std::string> ReadInput(const std::string& path);

}  // namespace gpuscaler
