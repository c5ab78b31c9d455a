#include "app/instant.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/duration_text.h"

namespace gpuscaler {
namespace {

std::optional<absl::Time> LastTimeOfDay(absl::string_view text, absl::Time now,
                                        absl::TimeZone zone) {
  absl::Time parsed;
  std::string error;
  if (!absl::ParseTime("%H:%M", text, &parsed, &error) &&
      !absl::ParseTime("%H:%M:%S", text, &parsed, &error)) {
    return std::nullopt;
  }
  const absl::CivilSecond time = absl::ToCivilSecond(parsed, absl::UTCTimeZone());
  const absl::CivilDay today = absl::ToCivilDay(now, zone);
  for (const absl::CivilDay day : {today, today - 1}) {
    const absl::Time instant =
        absl::FromCivil(absl::CivilSecond(day.year(), day.month(), day.day(), time.hour(),
                                          time.minute(), time.second()),
                        zone);
    if (instant <= now) return instant;
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<absl::Time> ParseInstant(absl::string_view text, absl::Time now,
                                        absl::TimeZone zone) {
  if (const auto instant = LastTimeOfDay(text, now, zone)) return *instant;
  if (const auto ago = ParseDuration(text); ago.ok()) return now - *ago;
  absl::Time instant;
  std::string error;
  if (!absl::ParseTime(absl::RFC3339_full, text, &instant, &error)) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text, "\" is no time: use 15:04, 10m for ten minutes ago, or ",
                     "2026-01-31T15:04:05Z"));
  }
  if (instant <= now) return instant;
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text, "\" is after the scaler's time, ", InstantText(now, zone)));
}

std::string InstantText(absl::Time time, absl::TimeZone zone) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S %Ez", time, zone);
}

}  // namespace gpuscaler
