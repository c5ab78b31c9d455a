// JSON of the web API: unknown is null, times are seconds since 1970, and any bytes of names become
// valid UTF-8.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "nlohmann/json.hpp"

namespace gpuscaler {

using WebJson = nlohmann::ordered_json;

// Seconds since 1970 with three decimals at most; null for an infinite time.
WebJson TimeJson(absl::Time time);

// The number with three decimals at most; null if it is empty or not finite.
WebJson DecimalJson(const std::optional<double>& number);

// Bytes that are not UTF-8 become U+FFFD.
std::string WebJsonText(const WebJson& json);

// Appends the text in quotation marks.
void AppendJsonString(absl::string_view text, std::string& out);

}  // namespace gpuscaler
