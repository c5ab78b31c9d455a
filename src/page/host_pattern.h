// Host patterns in the operator's configuration.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace gpuscaler {

// The patterns and the host are in lower case. A pattern is a name, or "*.infra.svc" for all names
// with that suffix. A final dot is ignored. A Service matches with and without the cluster's
// domain: "redis.infra.svc" also matches redis.infra.svc.cluster.local, but no name in another
// domain with that prefix.
bool MatchesAny(const std::vector<std::string>& patterns, absl::string_view host,
                absl::string_view cluster_domain);

}  // namespace gpuscaler
