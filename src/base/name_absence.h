// Whether a name has no address, or DNS merely fails.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace gpuscaler {

// For names that getaddrinfo() does not find, since it takes failures for an answer (glibc 2.36): a
// question for IPv4 that is refused, lost or SERVFAIL where that for IPv6 is answered with nothing,
// and any that are lost where another name of the search list does not exist. Asks for both, one by
// one, in each domain of the search list.
// Returns the last alias (CNAME) of the name, or itself if it has none: each answer is that there
// is no such name, or no such address of it, nor of its aliases. UNAVAILABLE: which question got
// another one, or none. Takes as long as one question without an answer does.
absl::StatusOr<std::string> NameWithoutAddress(const std::string& host);

}  // namespace gpuscaler
