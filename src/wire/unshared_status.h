// Copies of statuses for other threads.
#pragma once

#include "absl/status/status.h"

namespace gpuscaler {

// Returns a copy that shares no memory with `status`, without payloads. absl's own copies share a
// reference-counted object. Debian's library is not instrumented, so ThreadSanitizer cannot see the
// counting and reports the release of the last copy as a race.
inline absl::Status Unshared(const absl::Status& status) {
  return {status.code(), status.message()};
}

}  // namespace gpuscaler
