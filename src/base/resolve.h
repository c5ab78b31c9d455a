// Resolves names with the system's resolver: its hosts file and DNS.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace gpuscaler {

struct ResolvedName {
  std::vector<std::string> addresses;  // IPv4 and IPv6, numeric, sorted, unique
  std::string canonical_name;          // the last alias (CNAME), or the name if it has none
};

// Returns no addresses if DNS confirms for each name of the search list that there are none
// (base/name_absence.h). A headless Service without pods is such a name: CoreDNS returns NXDOMAIN.
// Returns UNAVAILABLE if the name cannot be resolved. Blocks as long as the system's resolver does:
// many seconds if no server answers.
absl::StatusOr<ResolvedName> ResolveName(const std::string& host);

// Resolves and fails as ResolveName() does.
absl::StatusOr<std::vector<std::string>> AddressesOf(const std::string& host);

}  // namespace gpuscaler
