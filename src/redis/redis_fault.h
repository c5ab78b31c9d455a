// What Redis refuses, in the words of who wrote the ScaledObject.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace gpuscaler {

// `error` is the text of an error reply to a question about a queue. PERMISSION_DENIED and
// FAILED_PRECONDITION: so it stays until somebody changes it. UNAVAILABLE: it passes.
absl::Status RedisFault(absl::string_view error);

// The same of a reply to AUTH or SELECT, whose words are not repeated where they may hold the
// password: "unknown command 'AUTH', with args beginning with: ...".
absl::Status RedisSignInFault(absl::string_view error);

// "10.1.2.3:6379" of "MOVED 3999 10.1.2.3:6379": which node of a cluster holds the key. Empty: it
// is no such error. Redis leaves the host out where it is the one that was asked: ":6379".
absl::string_view MovedTo(absl::string_view error);

}  // namespace gpuscaler
