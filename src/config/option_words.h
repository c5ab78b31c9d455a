// The words of options with a fixed set of values.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "config/options.h"

namespace gpuscaler {

// `Choice` must be Role, LogLevel, LogFormat, AttributionMode, DiscoverEngines or AgentIdentity.
// Returns INVALID_ARGUMENT with the allowed words and the nearest one.
template <typename Choice>
absl::Status SetWord(absl::string_view text, Choice& chosen);

template <typename Choice>
absl::string_view WordOf(Choice choice);

// Empty: the option has no fixed set of words.
std::vector<absl::string_view> Words(const Option& option);

}  // namespace gpuscaler
