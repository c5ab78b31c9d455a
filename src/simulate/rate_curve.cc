#include "simulate/rate_curve.h"

#include <algorithm>
#include <cmath>
#include <numbers>

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

}  // namespace

RateCurve RateCurve::Constant(double rate) {
  RateCurve curve(Kind::kChanges);
  curve.changes_ = {{absl::ZeroDuration(), rate}};
  return curve;
}

RateCurve RateCurve::Step(double low, double high, absl::Duration duration) {
  RateCurve curve(Kind::kChanges);
  curve.changes_ = {{absl::ZeroDuration(), low}, {duration / 4, high}, {duration * 3 / 4, low}};
  return curve;
}

RateCurve RateCurve::Burst(double low, double high, absl::Duration period) {
  RateCurve curve(Kind::kBurst);
  curve.low_ = low;
  curve.high_ = high;
  curve.period_ = period;
  return curve;
}

RateCurve RateCurve::Sine(double low, double high, absl::Duration period) {
  RateCurve curve = Burst(low, high, period);
  curve.kind_ = Kind::kSine;
  return curve;
}

RateCurve RateCurve::Ramp(double low, double high, absl::Duration from, absl::Duration until) {
  RateCurve curve = Burst(low, high, until - from);
  curve.kind_ = Kind::kRamp;
  curve.from_ = from;
  return curve;
}

RateCurve RateCurve::Times(double factor) const {
  RateCurve curve = *this;
  curve.low_ *= factor;
  curve.high_ *= factor;
  for (Change& change : curve.changes_) change.rate *= factor;
  return curve;
}

absl::StatusOr<RateCurve> RateCurve::Parse(absl::string_view text) {
  RateCurve curve(Kind::kChanges);
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
    if (!curve.changes_.empty() && from <= curve.changes_.back().from) {
      return LineError(line, absl::InvalidArgumentError(
                                 absl::StrCat(words[0], ": not later than the line before it")));
    }
    curve.changes_.push_back({from, *rate});
  }
  if (curve.changes_.empty()) return absl::InvalidArgumentError("no line SECONDS RATE");
  return curve;
}

double RateCurve::RateAt(absl::Duration passed) const {
  if (kind_ == Kind::kChanges) return RateOfChanges(passed);
  if (kind_ == Kind::kRamp) {
    const double risen = absl::FDivDuration(passed - from_, period_);
    return low_ + (high_ - low_) * std::clamp(risen, 0.0, 1.0);
  }
  const double turn = absl::FDivDuration(passed % period_, period_);
  if (kind_ == Kind::kBurst) return turn < kBurstShare ? high_ : low_;
  return low_ + (high_ - low_) * (1 - std::cos(2 * std::numbers::pi * turn)) / 2;
}

double RateCurve::RateOfChanges(absl::Duration passed) const {
  const auto next = std::ranges::upper_bound(changes_, passed, {}, &Change::from);
  return next == changes_.begin() ? 0 : std::prev(next)->rate;
}

absl::Duration RateCurve::LastChange() const {
  return changes_.empty() ? absl::ZeroDuration() : changes_.back().from;
}

}  // namespace gpuscaler
