#include "base/duration_text.h"

#include "absl/strings/str_cat.h"

namespace gpuscaler {

absl::StatusOr<absl::Duration> ParseDuration(absl::string_view text) {
  absl::Duration duration;
  const bool parsed = absl::ParseDuration(text, &duration);
  if (parsed && duration >= absl::ZeroDuration() && duration < absl::InfiniteDuration()) {
    return duration;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", text, "\" is not a duration: use a number with a unit, such as 500ms, 30s or 2m"));
}

std::string DurationText(absl::Duration duration) { return absl::FormatDuration(duration); }

std::string AgeText(absl::Duration age) {
  const absl::Duration unit = age < absl::Seconds(1) ? absl::Milliseconds(1) : absl::Seconds(1);
  return DurationText(absl::Trunc(age, unit));
}

}  // namespace gpuscaler
