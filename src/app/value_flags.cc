#include "app/value_flags.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/duration_text.h"
#include "base/number_text.h"

namespace gpuscaler {

Flag DurationFlag(std::string name, const std::string& help, absl::Duration least,
                  absl::Duration most, absl::Duration* variable) {
  const std::string range = absl::StrCat(DurationText(least), " to ", DurationText(most));
  return {
      .name = std::move(name),
      .value = "DURATION",
      .help = absl::StrCat(help, " ", range, "."),
      .default_text = DurationText(*variable),
      .set = [least, most, range, variable](const std::string& text) {
        const auto duration = ParseDuration(text);
        if (duration.ok() && least <= *duration && *duration <= most) {
          *variable = *duration;
          return absl::OkStatus();
        }
        return absl::InvalidArgumentError(absl::StrCat("use a duration with its unit, ", range));
      }};
}

Flag NumberFlag(std::string name, const std::string& help, double least, double most,
                double* variable) {
  const std::string range = absl::StrCat(NumberText(least), " to ", NumberText(most));
  return {.name = std::move(name),
          .value = "NUMBER",
          .help = absl::StrCat(help, " ", range, "."),
          .default_text = NumberText(*variable),
          .set = [least, most, range, variable](const std::string& text) {
            const auto number = ParseNumber(text);
            if (number.ok() && least <= *number && *number <= most) {
              *variable = *number;
              return absl::OkStatus();
            }
            return absl::InvalidArgumentError(absl::StrCat("use a number, ", range));
          }};
}

}  // namespace gpuscaler
