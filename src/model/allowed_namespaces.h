// Namespaces are walls (DESIGN 2), and only the operator of the scaler opens one.
#pragma once

#include <map>
#include <string>

namespace gpuscaler {

// Who asks, and whose pods it may see besides its own namespace's: one pair each.
using AllowedNamespaces = std::multimap<std::string, std::string>;

}  // namespace gpuscaler
