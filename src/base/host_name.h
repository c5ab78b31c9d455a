// Whether a text can name a host at all.
#pragma once

#include "absl/strings/string_view.h"

namespace gpuscaler {

// RFC 1123, 2.1: labels of 1 to 63 letters, digits and inner hyphens, 253 characters in all, of
// which the last label is no number, lest it be half an address; one dot may end it. No address is
// one. Underscores too, which resolvers take: Compose names containers so.
bool IsHostName(absl::string_view text);

// Such a name of one label, without a dot.
bool IsHostLabel(absl::string_view text);

}  // namespace gpuscaler
