// Converts numbers to text and back.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gpuscaler {

// Returns at most three decimals, the precision of this project's values, without trailing zeros:
// "12.5", "0.333", "80".
std::string NumberText(double value);

// Returns "1 replica" or "2 replicas".
std::string CountText(int64_t count, absl::string_view noun);

// Returns a finite decimal number, or INVALID_ARGUMENT for anything else: nan, inf, 1e999, hex, "",
// " 1".
absl::StatusOr<double> ParseNumber(absl::string_view text);

// Three decimals are the precision of KEDA.
double RoundToThreeDecimals(double value);

}  // namespace gpuscaler
