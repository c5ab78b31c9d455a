#include "signal/proc_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"

namespace gpuscaler {

// A process that has ended is ENOENT. It is ESRCH if it ended after the file was opened, and
// ENOTDIR or EINVAL if it ended while the kernel looked up the path.
absl::Status ProcError(int error, const std::string& path) {
  const std::string text = absl::StrCat(path, ": ", std::strerror(error));
  switch (error) {
    case ENOENT:
    case ESRCH:
    case ENOTDIR:
    case EINVAL:
      return absl::NotFoundError(text);
    case EACCES:
    case EPERM:
      return absl::PermissionDeniedError(text);
    default:
      return absl::InternalError(text);
  }
}

absl::StatusOr<std::string> ReadProcFile(const std::string& path, size_t max_bytes) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return ProcError(errno, path);
  const absl::Cleanup closed = [file] { close(file); };
  std::string text;
  std::array<char, 16384> block;
  while (text.size() < max_bytes) {  // the rest of a longer file is not read
    const ssize_t count = read(file, block.data(), std::min(block.size(), max_bytes - text.size()));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ProcError(errno, path);
    if (count == 0) break;
    text.append(block.data(), count);
  }
  return text;
}

}  // namespace gpuscaler
