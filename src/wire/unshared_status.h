// Statuses for another thread.
#pragma once

#include "absl/status/status.h"

namespace gpuscaler {

// Returns a copy of its own, without payloads. Copies of absl's count their references in Debian's
// library: ThreadSanitizer does not see that the last one is released after the others.
inline absl::Status Unshared(const absl::Status& status) {
  return {status.code(), status.message()};
}

}  // namespace gpuscaler
