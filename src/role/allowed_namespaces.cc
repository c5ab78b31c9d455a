#include "role/allowed_namespaces.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "model/pod.h"

namespace gpuscaler {
namespace {

absl::Status BadPair(absl::string_view pair, absl::string_view fault) {
  return absl::InvalidArgumentError(
      absl::StrCat("use FROM:TO,... with the names of namespaces; \"", pair, "\" ", fault));
}

}  // namespace

bool IsNamespace(absl::string_view name) {
  const auto is_inner = [](char c) {
    return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '-';
  };
  return !name.empty() && name.size() <= kLongestLabel && std::ranges::all_of(name, is_inner) &&
         name.front() != '-' && name.back() != '-';
}

absl::StatusOr<AllowedNamespaces> ParseAllowedNamespaces(absl::string_view text) {
  AllowedNamespaces allowed;
  if (text.empty()) return allowed;
  for (const absl::string_view each : absl::StrSplit(text, ',')) {
    const absl::string_view pair = absl::StripAsciiWhitespace(each);
    const std::vector<std::string> names = absl::StrSplit(pair, ':');
    if (names.size() != 2) return BadPair(pair, "is not two names with a colon between them");
    for (const std::string& name : names) {
      if (!IsNamespace(name)) {
        return BadPair(pair, absl::StrCat("names \"", name, "\", which no namespace is called"));
      }
    }
    if (names[0] == names[1]) return BadPair(pair, "opens nothing: a namespace sees its own pods");
    const auto [first, last] = allowed.equal_range(names[0]);
    const bool again =
        std::any_of(first, last, [&](const auto& entry) { return entry.second == names[1]; });
    if (again) return BadPair(pair, "is given twice");
    allowed.emplace(names[0], names[1]);
  }
  return allowed;
}

}  // namespace gpuscaler
