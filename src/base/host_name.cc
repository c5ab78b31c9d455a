#include "base/host_name.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace gpuscaler {
namespace {

constexpr size_t kLongestName = 253;
constexpr size_t kLongestLabel = 63;

bool IsLabel(absl::string_view text) {
  if (text.empty() || text.size() > kLongestLabel) return false;
  if (text.front() == '-' || text.back() == '-') return false;
  return std::ranges::all_of(text,
                             [](char c) { return absl::ascii_isalnum(c) || c == '-' || c == '_'; });
}

}  // namespace

bool IsHostName(absl::string_view text) {
  const absl::string_view name = absl::StripSuffix(text, ".");
  if (name.size() > kLongestName) return false;
  const std::vector<absl::string_view> labels = absl::StrSplit(name, '.');
  return std::ranges::all_of(labels, IsLabel) &&
         !std::ranges::all_of(labels.back(), absl::ascii_isdigit);
}

bool IsHostLabel(absl::string_view text) {
  return IsHostName(text) && !absl::StrContains(text, '.');
}

}  // namespace gpuscaler
