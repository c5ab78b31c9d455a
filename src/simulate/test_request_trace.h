// Random and recorded requests for closed loops, with the arrival time and the lengths of each.
#pragma once

#include <cstdint>
#include <random>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "simulate/closed_loop.h"

namespace gpuscaler {

// Lengths around a mean: normally distributed, and clamped to the mean plus or minus `spread` of
// it. Zero: all are equal.
struct LengthSpread {
  double deviation = 0;  // standard deviation / mean
  double spread = 0;
};

int64_t RandomLength(int64_t mean, const LengthSpread& spread, std::mt19937_64& random);

// Equal seeds give equal traces.
RequestTrace PoissonTrace(const RateCurve& curve, absl::Duration duration,
                          const EngineRequest& request, uint64_t seed,
                          const LengthSpread& prompts = {}, const LengthSpread& answers = {});

// Parses "TIMESTAMP,ContextTokens,GeneratedTokens" with a header, the format of the Azure LLM
// inference trace of 2023 (2023-11-16 18:15:46.6805900). Returns INVALID_ARGUMENT with the line.
absl::StatusOr<RequestTrace> ParseAzureTrace(absl::string_view text);

// Parses a JSON object per line with `timestamp` (milliseconds), `input_length` and
// `output_length`, the format of Mooncake's traces. Returns INVALID_ARGUMENT with the line.
absl::StatusOr<RequestTrace> ParseMooncakeTrace(absl::string_view text);

// Detects the format by the first line.
absl::StatusOr<RequestTrace> ParseTrace(absl::string_view text);

double RequestsPerSecond(const RequestTrace& trace);

// The rate is an average over the same total time. Requests are left out or repeated at random,
// which keeps the shape over time.
RequestTrace ScaledTrace(const RequestTrace& trace, double requests_per_second, uint64_t seed);

}  // namespace gpuscaler
