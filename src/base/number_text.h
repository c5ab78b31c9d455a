// Numbers as text, both ways.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gpuscaler {

// At most three decimals, no trailing zeros: "12.5", "0.333", "80". Values of this project keep no
// more.
std::string NumberText(double value);

// "1 replica", "2 replicas".
std::string CountText(int64_t count, absl::string_view noun);

// A finite decimal number. INVALID_ARGUMENT for anything else: nan, inf, 1e999, hex, "", " 1".
absl::StatusOr<double> ParseNumber(absl::string_view text);

// Rounded to three decimals, the precision KEDA keeps.
double RoundToThreeDecimals(double value);

}  // namespace gpuscaler
