#include "trigger/key_readers.h"

#include <algorithm>
#include <charconv>

#include "absl/strings/ascii.h"
#include "base/duration_text.h"
#include "base/number_text.h"

namespace gpuscaler {

std::optional<double> NumberIn(absl::string_view text, double least, double most) {
  const absl::StatusOr<double> number = ParseNumber(text);
  if (!number.ok() || *number < least || *number > most) return std::nullopt;
  return *number;
}

std::optional<int> WholeIn(absl::string_view text, int least, int most) {
  int number = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped_at, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stopped_at != end) return std::nullopt;
  return number >= least && number <= most ? std::optional(number) : std::nullopt;
}

std::optional<absl::Duration> DurationUpTo(absl::string_view text, absl::Duration most) {
  const absl::StatusOr<absl::Duration> duration = ParseDuration(text);
  return duration.ok() && *duration <= most ? std::optional(*duration) : std::nullopt;
}

bool IsText(absl::string_view text, size_t most, LineBreaks breaks) {
  return !text.empty() && text.size() <= most && std::ranges::none_of(text, [=](unsigned char c) {
    const bool is_break = c == '\n' || c == '\r';
    return absl::ascii_iscntrl(c) && !(is_break && breaks == LineBreaks::kAllowed);
  });
}

}  // namespace gpuscaler
