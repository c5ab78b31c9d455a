// Parses DNS replies that have no address: the alias or the error in them.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace gpuscaler {

// Returns the last alias (CNAME) in the reply to `question`, which is for records of `type`
// (ns_type), or "" if there is none. Returns UNAVAILABLE if the reply is malformed or has a record
// of that type.
absl::StatusOr<std::string> LastAliasIn(absl::Span<const unsigned char> reply, uint16_t type,
                                        absl::string_view question);

// Returns why a question failed: the server's error, or the text of `error` (errno) if `reply` is
// all zeros, since no reply came. `reply` must have a whole header.
std::string FailureIn(absl::Span<const unsigned char> reply, int error);

}  // namespace gpuscaler
