// Namespaces are isolated from each other. Only the operator of the scaler can allow
// access across them.
#pragma once

#include <map>
#include <string>

namespace gpuscaler {

// Pairs of a requesting namespace and another namespace in which it may read pods.
using AllowedNamespaces = std::multimap<std::string, std::string>;

}  // namespace gpuscaler
