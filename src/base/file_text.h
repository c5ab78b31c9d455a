// Reads a whole file into a string.
#pragma once

#include <cstdio>
#include <string>

#include "absl/status/statusor.h"

namespace gpuscaler {

// Larger than any manifest, profile, certificate or list of GPUs.
constexpr size_t kLargestText = size_t{16} << 20;

// Returns the whole content, which may be empty, never a part of it. Returns INVALID_ARGUMENT
// "PATH: cannot be read: WHY" if the file is missing, unreadable, a directory or larger than
// `max_bytes`.
absl::StatusOr<std::string> ReadFileText(const std::string& path, size_t max_bytes = kLargestText);

// Reads the rest of `file`, which stays open. Errors have `name` in place of the path.
absl::StatusOr<std::string> ReadFileText(std::FILE* file, const std::string& name,
                                         size_t max_bytes = kLargestText);

}  // namespace gpuscaler
