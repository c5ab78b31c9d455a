// Distinguishes a name without an address from a DNS failure.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace gpuscaler {

// Call this when getaddrinfo() does not find a name, because glibc 2.36 reports some failures as
// "no such name". It does so if the query for IPv4 is refused, lost or SERVFAIL while the one for
// IPv6 returns no record. It also does so if a query is lost while another name of the search list
// does not exist. This function sends both queries, one by one, for each domain of the search list.
//
// Returns the last alias (CNAME) of the name, or the name itself if it has none. Returns
// UNAVAILABLE, with the query, unless every answer is that the name or its alias does not exist or
// has no address. Takes about as long as one query without an answer, at most.
absl::StatusOr<std::string> NameWithoutAddress(const std::string& host);

}  // namespace gpuscaler
