#include "base/nearest.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace gpuscaler {
namespace {

// Levenshtein distance, case ignored.
size_t Distance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const bool same = absl::ascii_tolower(a[i - 1]) == absl::ascii_tolower(b[j - 1]);
      const size_t replaced = diagonal + (same ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

// The only known word that begins with `word`; empty when there are none or several.
absl::string_view OnlyBeginningWith(absl::string_view word,
                                    const std::vector<absl::string_view>& known) {
  constexpr size_t kTellingLetters = 3;
  if (word.size() < kTellingLetters) return "";
  const auto begins = [word](absl::string_view candidate) {
    return absl::StartsWithIgnoreCase(candidate, word);
  };
  const auto found = std::ranges::find_if(known, begins);
  return std::ranges::count_if(known, begins) == 1 ? *found : "";
}

}  // namespace

absl::string_view Nearest(absl::string_view word, const std::vector<absl::string_view>& known) {
  if (word.size() > 64) return "";  // no typo of ours, and the distance is quadratic
  if (const auto only = OnlyBeginningWith(word, known); !only.empty()) return only;
  size_t best = std::max<size_t>(2, word.size() / 3) + 1;
  absl::string_view nearest;
  for (absl::string_view candidate : known) {
    const size_t distance = Distance(word, candidate);
    if (distance >= best || distance >= candidate.size()) continue;
    best = distance;
    nearest = candidate;
  }
  return nearest;
}

std::string DidYouMean(absl::string_view word, const std::vector<absl::string_view>& known) {
  const absl::string_view nearest = Nearest(word, known);
  return nearest.empty() ? "" : absl::StrCat("; did you mean \"", nearest, "\"?");
}

}  // namespace gpuscaler
