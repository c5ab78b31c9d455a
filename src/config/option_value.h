// Converts values of options from and to text.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "config/options.h"

namespace gpuscaler {

// Returns INVALID_ARGUMENT with what is allowed, without the name of the option or layer.
absl::Status Set(const Option& option, absl::string_view text, Config& config);

// Returns a text that Set() reads back as the same value, or "" if nothing is set.
std::string TextOf(const Option& option, const Config& config);

}  // namespace gpuscaler
