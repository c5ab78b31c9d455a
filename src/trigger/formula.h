// Trigger names in a formula of KEDA's scalingModifiers. The formula is split into words, not
// parsed.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace gpuscaler {

// Returns the words that can only be triggers: neither words of expr-lang nor functions. Returns an
// empty vector if the formula defines names or has texts (let, {}, quotes), because words alone
// then do not show which are triggers.
std::vector<std::string> TriggersIn(absl::string_view formula);

// Returns the triggers that make min(a / 5, b) zero if they are zero. The formula must be one
// min(), and an argument counts if it is a trigger, alone or multiplied or divided by a number.
std::vector<std::string> TriggersInMin(absl::string_view formula);

}  // namespace gpuscaler
