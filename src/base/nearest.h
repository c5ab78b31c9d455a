// "Did you mean": finds the known word that is nearest to a mistyped one (Levenshtein distance).
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace gpuscaler {

// Returns the only known word that begins with `word`, else the nearest one. Returns "" if no word
// is near: more than a third of the letters, and more than 2, would have to change.
absl::string_view Nearest(absl::string_view word, const std::vector<absl::string_view>& known);

// The nearest word comes first.
std::vector<absl::string_view> NearestFew(absl::string_view word,
                                          const std::vector<absl::string_view>& known, size_t most);

// Returns `; did you mean "targetValue"?`, or "" if no word is near.
std::string DidYouMean(absl::string_view word, const std::vector<absl::string_view>& known);

}  // namespace gpuscaler
