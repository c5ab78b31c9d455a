#include "simulate/rate_curve.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/number_text.h"
#include "base/status_macros.h"

namespace gpuscaler {
namespace {

constexpr double kBurstShare = 0.2;  // share of a period
constexpr double kLatestSecond = 86400;
constexpr double kHighestRate = 1'000'000;

absl::StatusOr<double> ParseWithin(absl::string_view text, absl::string_view what, double most) {
  const auto number = ParseNumber(text);
  if (number.ok() && 0 <= *number && *number <= most) return *number;
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text, "\": ", what, " is a number from 0 to ", NumberText(most)));
}

absl::Status LineError(int line, const absl::Status& why) {
  return absl::InvalidArgumentError(absl::StrCat("line ", line, ": ", why.message()));
}

struct Change {
  absl::Duration from;
  double rate;
};

}  // namespace

RateCurve RateCurve::Constant(double rate) {
  return RateCurve([rate](absl::Duration) { return rate; });
}

RateCurve RateCurve::Step(double low, double high, absl::Duration duration) {
  return RateCurve([=](absl::Duration passed) {
    return duration / 4 <= passed && passed < duration * 3 / 4 ? high : low;
  });
}

RateCurve RateCurve::Burst(double low, double high, absl::Duration period) {
  return RateCurve([=](absl::Duration passed) {
    return absl::FDivDuration(passed % period, period) < kBurstShare ? high : low;
  });
}

RateCurve RateCurve::Sine(double low, double high, absl::Duration period) {
  return RateCurve([=](absl::Duration passed) {
    const double turn = absl::FDivDuration(passed % period, period);
    return low + (high - low) * (1 - std::cos(2 * std::numbers::pi * turn)) / 2;
  });
}

RateCurve RateCurve::Ramp(double low, double high, absl::Duration from, absl::Duration until) {
  return RateCurve([=](absl::Duration passed) {
    const double risen = absl::FDivDuration(passed - from, until - from);
    return low + (high - low) * std::clamp(risen, 0.0, 1.0);
  });
}

RateCurve RateCurve::Times(double factor) const {
  return RateCurve([rate = rate_, factor](absl::Duration passed) { return factor * rate(passed); });
}

absl::StatusOr<RateCurve> RateCurve::Parse(absl::string_view text) {
  std::vector<Change> changes;
  int line = 0;
  for (absl::string_view whole : absl::StrSplit(text, '\n')) {
    ++line;
    const std::vector<absl::string_view> words = absl::StrSplit(
        whole.substr(0, whole.find('#')), absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
    if (words.empty()) continue;
    if (words.size() != 2) {
      return LineError(line, absl::InvalidArgumentError(
                                 absl::StrCat(CountText(static_cast<int64_t>(words.size()), "word"),
                                              ": use two numbers, SECONDS RATE, such as 30 12.5")));
    }
    const auto second = ParseWithin(words[0], "the second", kLatestSecond);
    if (!second.ok()) return LineError(line, second.status());
    const auto rate = ParseWithin(words[1], "the rate", kHighestRate);
    if (!rate.ok()) return LineError(line, rate.status());
    const absl::Duration from = absl::Seconds(*second);
    if (!changes.empty() && from <= changes.back().from) {
      return LineError(line, absl::InvalidArgumentError(
                                 absl::StrCat(words[0], ": not later than the line before it")));
    }
    changes.push_back({from, *rate});
  }
  if (changes.empty()) return absl::InvalidArgumentError("no line SECONDS RATE");
  RateCurve curve([changes](absl::Duration passed) {
    const auto next = std::ranges::upper_bound(changes, passed, {}, &Change::from);
    return next == changes.begin() ? 0 : std::prev(next)->rate;
  });
  curve.last_change_ = changes.back().from;
  return curve;
}

}  // namespace gpuscaler
