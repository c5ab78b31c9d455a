// The names of the models that an engine serves, as one text.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace gpuscaler {

// Returns the names, separated by commas. Empty: none is known, or they take more than 256 bytes. A
// part of such a list cannot be compared with a part of another one.
std::string JoinModels(const std::vector<absl::string_view>& names);

// Returns whether both are known and have no name in common. Then nothing learnt of one counts for
// the other. A model that is loaded beside others changes nothing.
bool AreOtherModels(absl::string_view models, absl::string_view before);

}  // namespace gpuscaler
