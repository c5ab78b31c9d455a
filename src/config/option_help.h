// The texts about an option in the help, the man page and the reference.
#pragma once

#include <string>

#include "config/options.h"

namespace gpuscaler {

// Empty: the option has no default.
std::string DefaultText(const Option& option);

// Includes the range of a number or duration.
std::string HelpText(const Option& option);

}  // namespace gpuscaler
