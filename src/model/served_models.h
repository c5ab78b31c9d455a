// The names of the models that an engine serves, as one string.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace gpuscaler {

// Commas separate the names. Empty: none is known, or they take more than 256 bytes, because
// shortened lists could not be compared.
std::string JoinModels(const std::vector<absl::string_view>& names);

// Returns true if both are known and have no name in common, so that nothing learnt about one
// applies to the other. An engine that loads a further model keeps a name in common.
bool AreOtherModels(absl::string_view models, absl::string_view before);

}  // namespace gpuscaler
