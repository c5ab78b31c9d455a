// Shell completion, made from the commands' own tables.
#pragma once

#include <string>
#include <vector>

#include "app/command.h"

namespace gpuscaler {

// Scripts to be sourced; hidden commands are left out.
std::string BashCompletion(const std::vector<Command>& commands);
std::string ZshCompletion(const std::vector<Command>& commands);
std::string FishCompletion(const std::vector<Command>& commands);

}  // namespace gpuscaler
