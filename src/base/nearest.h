// "Did you mean": the known word that a mistyped one most resembles.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace gpuscaler {

// The only known word that begins with it; else the one that differs least. Empty when nothing is
// near: more than a third of the word (at least 2 letters) would have to change.
absl::string_view Nearest(absl::string_view word, const std::vector<absl::string_view>& known);

// `most` of them that differ least, the nearest first.
std::vector<absl::string_view> NearestFew(absl::string_view word,
                                          const std::vector<absl::string_view>& known, size_t most);

// `; did you mean "targetValue"?`, or nothing.
std::string DidYouMean(absl::string_view word, const std::vector<absl::string_view>& known);

}  // namespace gpuscaler
