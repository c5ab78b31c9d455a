// Converts numbers to text and back, and lists to text of a limited length.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace gpuscaler {

// Returns at most three decimals, the precision of this project's values, without trailing zeros:
// "12.5", "0.333", "80".
std::string NumberText(double value);

// Returns "1 replica" or "2 replicas".
std::string CountText(int64_t count, absl::string_view noun);

// Returns "a, b and 3 more": `most` of the texts, and the number of others. `omitted` are further
// ones that `texts` lacks.
template <typename Texts>
std::string ListText(const Texts& texts, size_t most, size_t omitted = 0) {
  const size_t named = std::min(texts.size(), most);
  const auto end = std::next(texts.begin(), static_cast<std::ptrdiff_t>(named));
  const size_t more = texts.size() - named + omitted;
  return absl::StrCat(absl::StrJoin(texts.begin(), end, ", "),
                      more > 0 ? absl::StrCat(" and ", more, " more") : "");
}

// Returns a finite decimal number, or INVALID_ARGUMENT for anything else: nan, inf, 1e999, hex, "",
// " 1".
absl::StatusOr<double> ParseNumber(absl::string_view text);

// Three decimals are the precision of KEDA.
double RoundToThreeDecimals(double value);

}  // namespace gpuscaler
