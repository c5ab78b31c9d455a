#include "web/web_json.h"

#include <cmath>

#include "base/number_text.h"

namespace gpuscaler {

WebJson TimeJson(absl::Time time) {
  if (time == absl::InfinitePast() || time == absl::InfiniteFuture()) return nullptr;
  return DecimalJson(absl::ToDoubleSeconds(time - absl::UnixEpoch()));
}

WebJson DecimalJson(const std::optional<double>& number) {
  constexpr double kLargestExact = 9007199254740992;  // 2^53
  if (!number.has_value() || !std::isfinite(*number)) return nullptr;
  if (std::trunc(*number) == *number && std::abs(*number) <= kLargestExact) {
    return static_cast<int64_t>(*number);
  }
  return RoundToThreeDecimals(*number);
}

std::string WebJsonText(const WebJson& json) {
  return json.dump(-1, ' ', false, WebJson::error_handler_t::replace);
}

void AppendJsonString(absl::string_view text, std::string& out) {
  out += WebJsonText(WebJson(std::string(text)));
}

}  // namespace gpuscaler
