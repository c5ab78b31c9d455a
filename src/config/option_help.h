// The texts about an option in the help, the man page and the reference.
#pragma once

#include <string>

#include "config/options.h"

namespace gpuscaler {

// Returns the default, or "" if there is none.
std::string DefaultText(const Option& option);

// Returns the help, with the range of a number or duration.
std::string HelpText(const Option& option);

}  // namespace gpuscaler
