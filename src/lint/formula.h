// A formula of KEDA's scalingModifiers, as far as its words tell.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace gpuscaler {

// What can only be triggers in it, by their names: neither expr-lang's own words nor functions.
// Empty of a formula with names or texts of its own (let, {}, quotes): which are triggers takes
// more than a look at its words.
std::vector<std::string> TriggersIn(absl::string_view formula);

// Those that are 0 in min(a / 5, b), which is 0 when one of them is: of a formula that is nothing
// else, of arguments that are a trigger, multiplied or divided by a number.
std::vector<std::string> TriggersInMin(absl::string_view formula);

}  // namespace gpuscaler
