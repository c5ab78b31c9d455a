// What an option is set to: read from a text, and written as one.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "config/options.h"

namespace gpuscaler {

// INVALID_ARGUMENT says what is allowed, without naming option or layer.
absl::Status Set(const Option& option, absl::string_view text, Config& config);

// What Set() reads back as the same value; "" where nothing is set.
std::string TextOf(const Option& option, const Config& config);

}  // namespace gpuscaler
