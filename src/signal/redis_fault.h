// Translates errors of Redis to terms of the ScaledObject.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace gpuscaler {

// `error` is an error reply to a queue command. PERMISSION_DENIED and FAILED_PRECONDITION last
// until someone changes the configuration. UNAVAILABLE is temporary.
absl::Status RedisFault(absl::string_view error);

// As RedisFault() for AUTH and SELECT. Does not repeat text that may hold the password: "unknown
// command 'AUTH', with args beginning with: ...".
absl::Status RedisSignInFault(absl::string_view error);

// Returns "10.1.2.3:6379" from "MOVED 3999 10.1.2.3:6379": the cluster node that holds the key.
// Returns "" for other errors. Redis omits the host if it is the same server: ":6379".
absl::string_view MovedTo(absl::string_view error);

}  // namespace gpuscaler
