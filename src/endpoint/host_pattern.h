// Which hosts an operator means.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace gpuscaler {

// Whether one of the patterns is the host, both in lower case: a name, or "*.infra.svc" for each
// that ends so. The dot that ends a whole name is no part of it, and a Service is meant with the
// cluster's domain and without: "redis.infra.svc" is redis.infra.svc.cluster.local too, and no name
// of another domain that begins so.
bool MatchesAny(const std::vector<std::string>& patterns, absl::string_view host,
                absl::string_view cluster_domain);

}  // namespace gpuscaler
