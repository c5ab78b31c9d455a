#include "base/number_text.h"

#include <charconv>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace gpuscaler {

std::string NumberText(double value) {
  std::string text = absl::StrFormat("%.3f", value);
  if (text.find('.') == std::string::npos) return text;  // nan, inf
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string CountText(int64_t count, absl::string_view noun) {
  return absl::StrCat(count, " ", noun, count == 1 ? "" : "s");
}

absl::StatusOr<double> ParseNumber(absl::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped_at, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && stopped_at == end && std::isfinite(value)) return value;
  return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is not a finite number"));
}

double RoundToThreeDecimals(double value) {
  constexpr double kFirstWithoutDecimals = 4.6e15;  // 2^52 and more are whole
  if (std::abs(value) >= kFirstWithoutDecimals) return value;
  return std::round(value * 1000) / 1000;
}

}  // namespace gpuscaler
