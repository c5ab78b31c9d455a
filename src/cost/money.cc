#include "cost/money.h"

#include <algorithm>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace gpuscaler {
namespace {

constexpr size_t kDecimals = 6;
constexpr int64_t kMicroUnits = 1'000'000;
constexpr int64_t kHighestPrice = 1'000'000;
constexpr int64_t kHundredthsInUnit = 100;
constexpr int64_t kMicrosInHour = int64_t{3'600} * 1'000'000;
constexpr int64_t kPriceMicrosInHundredth = kMicrosInHour * (kMicroUnits / kHundredthsInUnit);

bool IsDigits(absl::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); });
}

// Divides and rounds to the nearest integer, ties to even. Requires a positive divisor.
absl::int128 DivideHalfEven(absl::int128 dividend, absl::int128 divisor) {
  absl::int128 quotient = dividend / divisor;
  absl::int128 rest = dividend % divisor;
  if (rest < 0) {
    rest += divisor;
    quotient -= 1;
  }
  const absl::int128 twice = 2 * rest;
  const bool is_odd = quotient % 2 != 0;
  return twice > divisor || (twice == divisor && is_odd) ? quotient + 1 : quotient;
}

}  // namespace

absl::StatusOr<HourlyPrice> ParseHourlyPrice(absl::string_view text) {
  const size_t point = text.find('.');
  const absl::string_view whole = text.substr(0, point);
  absl::string_view decimals = point == absl::string_view::npos ? "" : text.substr(point + 1);
  while (!decimals.empty() && decimals.back() == '0') decimals.remove_suffix(1);
  const bool has_digit = !whole.empty() || text.size() > point + 1;
  const std::string padded =
      absl::StrCat(decimals, std::string(kDecimals, '0')).substr(0, kDecimals);
  int64_t units = 0;
  int64_t micro_units = 0;
  const bool is_number =
      has_digit && IsDigits(whole) && IsDigits(decimals) && decimals.size() <= kDecimals &&
      (whole.empty() || absl::SimpleAtoi(whole, &units)) && absl::SimpleAtoi(padded, &micro_units);
  if (!is_number || units > kHighestPrice) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text, "\" is not a price: use a decimal number from 0 to ",
                     kHighestPrice, " with at most six decimals, such as 2.45"));
  }
  return HourlyPrice{.micro_units = units * kMicroUnits + micro_units};
}

std::string HoursText(int64_t micros, int decimals) {
  int64_t scale = 1;
  for (int i = 0; i < decimals; ++i) scale *= 10;
  const auto scaled =
      static_cast<int64_t>(DivideHalfEven(absl::int128(micros) * scale, kMicrosInHour));
  if (decimals == 0) return absl::StrCat(scaled);
  return absl::StrFormat("%d.%0*d", scaled / scale, decimals, scaled % scale);
}

Money Money::FromHundredths(int64_t hundredths) {
  Money money;
  money.price_micros_ = absl::int128(hundredths) * kPriceMicrosInHundredth;
  return money;
}

int64_t Money::Hundredths() const {
  const absl::int128 hundredths = DivideHalfEven(price_micros_, kPriceMicrosInHundredth);
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  return hundredths > kMost ? kMost : static_cast<int64_t>(hundredths);
}

std::string Money::Text() const {
  const int64_t hundredths = Hundredths();
  const int64_t size = hundredths < 0 ? -hundredths : hundredths;
  return absl::StrFormat("%s%d.%02d", hundredths < 0 ? "-" : "", size / kHundredthsInUnit,
                         size % kHundredthsInUnit);
}

}  // namespace gpuscaler
