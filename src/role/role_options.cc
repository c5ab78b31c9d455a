#include "role/role_options.h"

#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "role/option_value.h"

namespace gpuscaler {
namespace {

constexpr absl::string_view kFlagOrigin = "flag ";

}  // namespace

bool IsRead(const Option& option, Role role) { return (option.roles & BitOf(role)) != 0; }

std::string RolesText(const Option& option) {
  if (option.roles == kAllRoles) return "";
  std::vector<absl::string_view> names;
  for (const Role role : {Role::kStandalone, Role::kAgent, Role::kAggregator}) {
    if (IsRead(option, role)) names.push_back(WordOf(role));
  }
  return absl::StrJoin(names, " or ");
}

absl::Status CheckFlagsOfRole(const std::vector<Setting>& flags, const Resolved& resolved) {
  std::set<std::string> faults;  // a flag may be given twice
  for (const Setting& flag : flags) {
    const Option* const option = FindOption(flag.name);
    if (option == nullptr || IsRead(*option, resolved.config.role)) continue;
    faults.insert(absl::StrCat(flag.origin, " is for role ", RolesText(*option)));
  }
  if (faults.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(absl::StrJoin(faults, ", "), "; here is ", Reported(resolved, "role")));
}

std::vector<std::string> SettingsOfOtherRoles(const Resolved& resolved) {
  std::vector<std::string> others;
  for (const auto& [name, origin] : resolved.origins) {
    const bool is_flag = absl::StartsWith(origin, kFlagOrigin);
    if (!is_flag && !IsRead(*FindOption(name), resolved.config.role)) others.push_back(origin);
  }
  return others;
}

}  // namespace gpuscaler
