// What help, man page and reference say about an option.
#pragma once

#include <string>

#include "config/options.h"

namespace gpuscaler {

// The default; "" where there is none.
std::string DefaultText(const Option& option);

// The help, and the range of a number or duration.
std::string HelpText(const Option& option);

}  // namespace gpuscaler
