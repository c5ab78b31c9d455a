#include "role/ignored_pods.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "role/allowed_namespaces.h"

namespace gpuscaler {

absl::StatusOr<std::vector<IgnoredPods>> ParseIgnoredPods(absl::string_view text) {
  std::vector<IgnoredPods> ignored;
  if (text.empty()) return ignored;
  for (const absl::string_view each : absl::StrSplit(text, ',')) {
    const absl::string_view entry = absl::StripAsciiWhitespace(each);
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(entry, absl::MaxSplits('/', 1));
    const bool has_slash = parts.first.size() < entry.size();
    if (!IsNamespace(parts.first) || (has_slash && parts.second.empty()) ||
        absl::StrContains(parts.second, '/')) {
      return absl::InvalidArgumentError(
          absl::StrCat("use NAMESPACE or NAMESPACE/PREFIX,...; \"", entry, "\" is neither"));
    }
    ignored.push_back(
        {.namespace_name = std::string(parts.first), .prefix = std::string(parts.second)});
  }
  return ignored;
}

}  // namespace gpuscaler
