// The reply of a DNS server to one question: what it has instead of an address.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace gpuscaler {

// Returns the last alias (CNAME) in the reply to `question`, which is for records of `type`
// (ns_type); empty if it has none. UNAVAILABLE: the reply is malformed, or has such a record.
absl::StatusOr<std::string> LastAliasIn(absl::Span<const unsigned char> reply, uint16_t type,
                                        absl::string_view question);

// Returns why a question failed: what the server replied, else the text of `error` (errno) if
// `reply` is none, but zeros. It must have a whole header.
std::string FailureIn(absl::Span<const unsigned char> reply, int error);

}  // namespace gpuscaler
