// Shell completion, generated from the commands' tables.
#pragma once

#include <string>
#include <vector>

#include "app/command.h"

namespace gpuscaler {

// Return scripts to be sourced. Hidden commands are left out.
std::string BashCompletion(const std::vector<Command>& commands);
std::string ZshCompletion(const std::vector<Command>& commands);
std::string FishCompletion(const std::vector<Command>& commands);

}  // namespace gpuscaler
