// The words of options that are a choice of a few.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "config/options.h"

namespace gpuscaler {

// `Choice` is Role, LogLevel, LogFormat, AttributionMode, DiscoverEngines or AgentIdentity.
// INVALID_ARGUMENT lists the words, and names the nearest one.
template <typename Choice>
absl::Status SetWord(absl::string_view text, Choice& chosen);

template <typename Choice>
absl::string_view WordOf(Choice choice);

// The only words that are allowed; empty where it is not a choice.
std::vector<absl::string_view> Words(const Option& option);

}  // namespace gpuscaler
