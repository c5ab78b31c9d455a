// Checks of options that are neither words, numbers nor durations.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace gpuscaler {

// All return INVALID_ARGUMENT with what is allowed, without the name of the option.
absl::Status CheckAddress(absl::string_view text);      // IP address to listen on
absl::Status CheckAgents(absl::string_view text);       // fleet/peer_addresses.h, or none
absl::Status CheckAggregators(absl::string_view text);  // the same, with IP addresses if static
absl::Status CheckHost(absl::string_view text);         // without a port, or none
absl::Status CheckHosts(absl::string_view text);        // with commas between them, or none
absl::Status CheckSocketPath(absl::string_view text);
absl::Status CheckAnySocketPath(absl::string_view text);  // or none
absl::Status CheckOwnPod(absl::string_view text);
absl::Status CheckCurrency(absl::string_view text);    // ISO 4217's code, or none
absl::Status CheckNamespaces(absl::string_view text);  // with commas between them, or none

// The check of a text that `Parse` must accept.
template <auto Parse>
absl::Status CheckParses(absl::string_view text) {
  return Parse(text).status();
}

}  // namespace gpuscaler
