// The requests of a closed loop: arrival time, prompt length and answer length of each.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "simulate/batch_engine.h"
#include "simulate/rate_curve.h"

namespace gpuscaler {

struct TracedRequest {
  absl::Duration at;  // since the start
  EngineRequest request;
};
using RequestTrace = std::vector<TracedRequest>;  // ordered by time

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

// Returns as many arrivals on average, evenly spaced.
RequestTrace EvenTrace(const RateCurve& curve, absl::Duration duration,
                       const EngineRequest& request);

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
