#include "web/web_query.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/number_text.h"
#include "base/printable_text.h"
#include "base/status_macros.h"

namespace gpuscaler {
namespace {

constexpr double kLatest = 253402300799;  // the year 9999
constexpr absl::Duration kDefaultRange = absl::Hours(1);

absl::Status Wrong(absl::string_view name, absl::string_view value, absl::string_view allowed) {
  return absl::InvalidArgumentError(
      absl::StrCat(name, "=\"", PrintableText(value), "\": use ", allowed));
}

}  // namespace

absl::StatusOr<std::optional<double>> NumberParameter(const WebRequest& request,
                                                      absl::string_view name, double least,
                                                      double most) {
  const auto found = request.query.find(std::string(name));
  if (found == request.query.end()) return std::nullopt;
  const absl::StatusOr<double> number = ParseNumber(found->second);
  if (number.ok() && *number >= least && *number <= most) return *number;
  return Wrong(name, found->second,
               absl::StrCat("a number from ", NumberText(least), " to ", NumberText(most)));
}

absl::StatusOr<std::optional<int>> CountParameter(const WebRequest& request, absl::string_view name,
                                                  int least, int most) {
  ASSIGN_OR_RETURN(const std::optional<double> number, NumberParameter(request, name, least, most));
  if (!number.has_value()) return std::nullopt;
  if (std::trunc(*number) == *number) return static_cast<int>(*number);
  return Wrong(name, request.query.at(std::string(name)), "a whole number");
}

absl::StatusOr<std::optional<absl::Time>> TimeParameter(const WebRequest& request,
                                                        absl::string_view name) {
  const absl::StatusOr<std::optional<double>> seconds = NumberParameter(request, name, 0, kLatest);
  if (!seconds.ok()) {
    return Wrong(name, request.query.at(std::string(name)), "seconds since 1970");
  }
  if (!seconds->has_value()) return std::nullopt;
  return absl::UnixEpoch() + absl::Seconds(**seconds);
}

absl::StatusOr<TimeRange> TimeRangeOf(const WebRequest& request, absl::Time now) {
  ASSIGN_OR_RETURN(const std::optional<absl::Time> from, TimeParameter(request, "from"));
  ASSIGN_OR_RETURN(const std::optional<absl::Time> to, TimeParameter(request, "to"));
  TimeRange range;
  range.to = std::min(to.value_or(now), now);
  range.from = from.value_or(range.to - kDefaultRange);
  if (range.from < range.to) return range;
  return absl::InvalidArgumentError("use a `from` before `to`, and not in the future");
}

}  // namespace gpuscaler
