// All of a file, as text.
#pragma once

#include <cstdio>
#include <string>

#include "absl/status/statusor.h"

namespace gpuscaler {

// More than any manifest, profile, certificate or list of GPUs has.
constexpr size_t kLargestText = size_t{16} << 20;

// INVALID_ARGUMENT "PATH: cannot be read: WHY" for what is missing, not ours to read, a directory,
// or larger than `most_bytes`: what was read so far is never taken for the whole. Empty is fine.
absl::StatusOr<std::string> ReadFileText(const std::string& path, size_t most_bytes = kLargestText);

// The rest of `file`, which stays open; `name` stands for the path.
absl::StatusOr<std::string> ReadFileText(std::FILE* file, const std::string& name,
                                         size_t most_bytes = kLargestText);

}  // namespace gpuscaler
