// Values of options as text, and the texts about them in the help, the man page and the reference.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "role/options.h"

namespace gpuscaler {

// Returns INVALID_ARGUMENT with what is allowed, without the name of the option or layer.
absl::Status Set(const Option& option, absl::string_view text, Config& config);

// Returns a text that Set() reads back as the same value, or "" if nothing is set.
std::string TextOf(const Option& option, const Config& config);

absl::string_view WordOf(Role role);  // "aggregator"
absl::string_view WordOf(AttributionMode mode);

// Empty: the option has no fixed set of words.
std::vector<absl::string_view> Words(const Option& option);

// Empty: the option has no default.
std::string DefaultText(const Option& option);

// Includes the range of a number or duration.
std::string HelpText(const Option& option);

}  // namespace gpuscaler
