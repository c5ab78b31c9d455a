// Attributes of the kernel's devices: files in /sys.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace gpuscaler {

// Returns the attribute without the newline at its end. NOT_FOUND: the device lacks it. There is no
// such file, or the driver answers EINVAL, EOPNOTSUPP or ENODATA. UNAVAILABLE "gpu_busy_percent:
// Operation not permitted": any other error.
absl::StatusOr<std::string> ReadSysfs(const std::string& path);

// Returns the same with a newline at its end: a table's last byte may look like one.
absl::StatusOr<std::string> ReadSysfsBytes(const std::string& path);

// Returns the same as a number. UNAVAILABLE: it is none.
absl::StatusOr<int64_t> ReadSysfsNumber(const std::string& path);

// Returns the names in a folder, in alphabetical order. Empty: the folder cannot be read.
std::vector<std::string> NamesInSysfs(const std::string& folder);

}  // namespace gpuscaler
