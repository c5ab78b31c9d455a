// Texts and counts that another machine sent: what of them is believed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace gpuscaler {

inline constexpr size_t kLongestText = 1024;   // of what people read
inline constexpr size_t kLongestAddress = 64;  // of IPv6 39, with a zone a few more

// A terminal that shows such a text obeys it.
bool HasControl(absl::string_view text);

// For people: short, and without control characters.
void MakeText(std::string& text);

// INVALID_ARGUMENT: a name that is too long, or has control characters.
absl::Status Named(absl::string_view what, absl::string_view name, size_t longest);

absl::Status Counted(absl::string_view what, int64_t count, int64_t most);

}  // namespace gpuscaler
