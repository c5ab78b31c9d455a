#include "config/option_help.h"

#include <cstdint>
#include <optional>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/duration_text.h"
#include "config/option_value.h"

namespace gpuscaler {

std::string DefaultText(const Option& option) {
  if (!option.default_text.empty()) return std::string(option.default_text);
  return TextOf(option, Config());
}

std::string HelpText(const Option& option) {
  const bool is_number = std::holds_alternative<int Config::*>(option.member);
  if (is_number) {
    return absl::StrCat(option.help, " ", option.least, " to ",
                        absl::StrCat(static_cast<int64_t>(option.most)), ".");
  }
  const bool is_duration =
      std::holds_alternative<absl::Duration Config::*>(option.member) ||
      std::holds_alternative<std::optional<absl::Duration> Config::*>(option.member);
  if (!is_duration) return std::string(option.help);
  return absl::StrCat(option.help, " ", DurationText(absl::Seconds(option.least)), " to ",
                      DurationText(absl::Seconds(option.most)), ".");
}

}  // namespace gpuscaler
