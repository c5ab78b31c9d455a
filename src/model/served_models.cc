#include "model/served_models.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace gpuscaler {

std::string JoinModels(const std::vector<absl::string_view>& names) {
  constexpr size_t kLongest = 256;
  std::vector<absl::string_view> known;
  size_t bytes = 0;
  for (const absl::string_view name : names) {
    if (name.empty()) continue;
    bytes += name.size() + 1;
    if (bytes > kLongest + 1) return "";
    known.push_back(name);
  }
  return absl::StrJoin(known, ",");
}

bool AreOtherModels(absl::string_view models, absl::string_view before) {
  if (models.empty() || before.empty() || models == before) return false;
  const std::vector<absl::string_view> known = absl::StrSplit(before, ',');
  const std::vector<absl::string_view> names = absl::StrSplit(models, ',');
  return std::ranges::none_of(
      names, [&](absl::string_view name) { return std::ranges::find(known, name) != known.end(); });
}

}  // namespace gpuscaler
