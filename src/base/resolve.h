// What a name means on this machine: its hosts file, its DNS.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace gpuscaler {

// Every address of `host`, IPv4 and IPv6, in figures, sorted, each once. Empty: the name has no
// address, which is what a headless Service without pods looks like (CoreDNS says NXDOMAIN), and
// DNS says so of each name of the search list (base/name_absence.h). UNAVAILABLE: it cannot be
// told. Takes as long as the system's resolver does, many seconds where it gets no answer.
absl::StatusOr<std::vector<std::string>> AddressesOf(const std::string& host);

}  // namespace gpuscaler
