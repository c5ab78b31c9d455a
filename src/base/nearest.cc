#include "base/nearest.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace gpuscaler {
namespace {

// Longer words are no typos of known ones, and the distance takes quadratic time.
constexpr size_t kLongestWord = 64;

// This is the Levenshtein distance, ignoring case.
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

// Returns the only known word that begins with `word`, or "" if there are none or several.
absl::string_view OnlyBeginningWith(absl::string_view word,
                                    const std::vector<absl::string_view>& known) {
  constexpr size_t kFewestLetters = 3;
  if (word.size() < kFewestLetters) return "";
  const auto begins = [word](absl::string_view candidate) {
    return absl::StartsWithIgnoreCase(candidate, word);
  };
  const auto found = std::ranges::find_if(known, begins);
  return std::ranges::count_if(known, begins) == 1 ? *found : "";
}

}  // namespace

std::vector<absl::string_view> NearestFew(absl::string_view word,
                                          const std::vector<absl::string_view>& known,
                                          size_t most) {
  const absl::string_view begin = word.substr(0, kLongestWord);
  std::vector<std::pair<size_t, absl::string_view>> by_distance;
  for (const absl::string_view candidate : known) {
    by_distance.emplace_back(Distance(begin, candidate.substr(0, kLongestWord)), candidate);
  }
  std::ranges::sort(by_distance);
  by_distance.resize(std::min(by_distance.size(), most));
  std::vector<absl::string_view> few;
  for (const auto& [distance, candidate] : by_distance) few.push_back(candidate);
  return few;
}

absl::string_view Nearest(absl::string_view word, const std::vector<absl::string_view>& known) {
  if (word.size() > kLongestWord) return "";
  if (const auto only = OnlyBeginningWith(word, known); !only.empty()) return only;
  size_t best = std::max<size_t>(2, word.size() / 3) + 1;
  absl::string_view nearest;
  for (absl::string_view candidate : known) {
    const size_t longer = std::max(word.size(), candidate.size());
    // No distance is less than the difference of the lengths.
    if (longer - std::min(word.size(), candidate.size()) >= best) continue;
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
