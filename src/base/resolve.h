// What a name means on this machine: its hosts file, its DNS.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace gpuscaler {

struct ResolvedName {
  std::vector<std::string> addresses;  // IPv4 and IPv6, in figures, sorted, each once
  std::string canonical_name;          // the last alias (CNAME) of the name; itself if it has none
};

// Without addresses the name has none, which is what a headless Service without pods looks like
// (CoreDNS answers NXDOMAIN), and DNS confirms it for each name of the search list
// (base/name_absence.h). UNAVAILABLE: it cannot be resolved. Takes as long as the system's resolver
// does, many seconds where it gets no answer.
absl::StatusOr<ResolvedName> ResolveName(const std::string& host);

// Returns the addresses alone.
absl::StatusOr<std::vector<std::string>> AddressesOf(const std::string& host);

}  // namespace gpuscaler
