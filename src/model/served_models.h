// The names of the models that an engine serves, as one string.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace gpuscaler {

// Commas separate the names. Empty: none is known, or they take more than 256 bytes. Parts of two
// such lists could not be compared.
std::string JoinModels(const std::vector<absl::string_view>& names);

// Returns true if both are known and have no name in common. Then nothing learnt about one applies
// to the other. Loading a further model changes nothing.
bool AreOtherModels(absl::string_view models, absl::string_view before);

}  // namespace gpuscaler
