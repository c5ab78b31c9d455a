// A file of /proc about a process, which may end, or be another user's, at any time.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace gpuscaler {

// The first `most_bytes` of it. NOT_FOUND: the process has ended, or the kernel has no such file.
// PERMISSION_DENIED: it is there, and not ours to read.
absl::StatusOr<std::string> ReadProcFile(const std::string& path, size_t most_bytes);

// The same three outcomes for any call that set `error`, an errno.
absl::Status ProcError(int error, const std::string& path);

}  // namespace gpuscaler
