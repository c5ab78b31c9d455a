// Checks the syntax of host names.
#pragma once

#include "absl/strings/string_view.h"

namespace gpuscaler {

// A host name (RFC 1123, section 2.1) has labels of 1 to 63 letters, digits and inner hyphens, 253
// characters in all. One dot may end it. The last label must not be a number, so no IPv4 address or
// part of one is a host name. Underscores are allowed too: resolvers accept them, and Compose has
// them in container names.
bool IsHostName(absl::string_view text);

// A host label is a host name of one label, without a dot.
bool IsHostLabel(absl::string_view text);

}  // namespace gpuscaler
