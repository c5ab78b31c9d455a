// What texts an option takes that are neither words, numbers nor durations.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace gpuscaler {

// INVALID_ARGUMENT says what is allowed, without naming the option.
absl::Status CheckAddress(absl::string_view text);      // of an interface to listen on
absl::Status CheckAgents(absl::string_view text);       // fleet/peer_addresses.h, or none
absl::Status CheckAggregators(absl::string_view text);  // the same, by IP address if static
absl::Status CheckHost(absl::string_view text);         // without a port, or none
absl::Status CheckSocketPath(absl::string_view text);
absl::Status CheckAnySocketPath(absl::string_view text);  // or none
absl::Status CheckOwnPod(absl::string_view text);
absl::Status CheckIgnoredPods(absl::string_view text);        // config/ignored_pods.h
absl::Status CheckNamespaces(absl::string_view text);         // with commas between them, or none
absl::Status CheckAllowedEndpoints(absl::string_view text);   // endpoint/endpoint_rules.h
absl::Status CheckAllowedNamespaces(absl::string_view text);  // app/allowed_namespaces.h

}  // namespace gpuscaler
