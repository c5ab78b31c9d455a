// Reads files of /proc about a process. The process may end at any time, or belong to another user.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace gpuscaler {

// A longer file is cut to its first `max_bytes`. NOT_FOUND: the process has ended, or the kernel
// has no such file. PERMISSION_DENIED: the file exists but may not be read. INTERNAL: any other
// error.
absl::StatusOr<std::string> ReadProcFile(const std::string& path, size_t max_bytes);

// `error` is the errno of a failed call on `path`. The codes are as above.
absl::Status ProcError(int error, const std::string& path);

}  // namespace gpuscaler
