// Checks of texts and counts from another machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace gpuscaler {

inline constexpr size_t kLongestText = 1024;  // texts for people
inline constexpr size_t kLongestAddress =
    64;  // IPv6 has up to 39 characters, and a few more with a zone

// Returns true if the text has control characters, which a terminal would execute.
bool HasControl(absl::string_view text);

// Shortens a text for people and replaces its control characters with spaces.
void CleanText(std::string& text);

// Returns INVALID_ARGUMENT if the name is too long or has control characters.
absl::Status CheckName(absl::string_view what, absl::string_view name, size_t longest);

absl::Status CheckCount(absl::string_view what, int64_t count, int64_t most);

}  // namespace gpuscaler
