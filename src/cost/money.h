// Exact amounts of money. They are rounded once, when they are printed.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "absl/numeric/int128.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gpuscaler {

// A price per GPU-hour in millionths of the currency's unit.
struct HourlyPrice {
  int64_t micro_units = 0;

  friend auto operator<=>(const HourlyPrice&, const HourlyPrice&) = default;
};

// Parses a decimal number such as "2.4480". Returns INVALID_ARGUMENT if it is negative, above
// 1,000,000, not decimal, or has more than six decimals that are not 0.
absl::StatusOr<HourlyPrice> ParseHourlyPrice(absl::string_view text);

// Returns hours with that many decimals, at most six: "1.500000" for 5,400,000,000 microseconds.
// Rounds once, ties to even.
std::string HoursText(int64_t micros, int decimals);

// Price times GPU time, without rounding. Sums are exact.
class Money {
 public:
  Money() = default;
  Money(HourlyPrice price, int64_t gpu_micros)
      : price_micros_(absl::int128(price.micro_units) * gpu_micros) {}

  static Money FromHundredths(int64_t hundredths);

  void Add(const Money& other) { price_micros_ += other.price_micros_; }

  // Returns "12.50": rounded to hundredths, ties to even.
  std::string Text() const;
  // Returns the rounded amount in hundredths of the unit.
  int64_t Hundredths() const;

  friend bool operator==(const Money&, const Money&) = default;

 private:
  absl::int128 price_micros_ = 0;  // micro-units per hour, times microseconds
};

}  // namespace gpuscaler
