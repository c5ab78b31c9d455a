// The requests that a closed loop gets: when each arrives, and how long its prompt and its answer
// are.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "batching/batch_engine.h"
#include "load/rate_curve.h"

namespace gpuscaler {

struct TracedRequest {
  absl::Duration at;  // since the start
  EngineRequest request;
};
using RequestTrace = std::vector<TracedRequest>;  // in order of time

// Lengths around a mean, normally distributed and clamped to `spread` of it on each side. Zero: all
// are equal.
struct LengthSpread {
  double deviation = 0;  // standard deviation / mean
  double spread = 0;
};

int64_t RandomLength(int64_t mean, const LengthSpread& spread, std::mt19937_64& random);

// Poisson arrivals along `curve`. Equal seeds give equal traces.
RequestTrace PoissonTrace(const RateCurve& curve, absl::Duration duration,
                          const EngineRequest& request, uint64_t seed,
                          const LengthSpread& prompts = {}, const LengthSpread& answers = {});

// The same number of them, evenly spaced.
RequestTrace EvenTrace(const RateCurve& curve, absl::Duration duration,
                       const EngineRequest& request);

// "TIMESTAMP,ContextTokens,GeneratedTokens" with a header, as the Azure LLM inference trace of 2023
// has it (2023-11-16 18:15:46.6805900). INVALID_ARGUMENT names the line.
absl::StatusOr<RequestTrace> ParseAzureTrace(absl::string_view text);

// A JSON object a line with `timestamp` (milliseconds), `input_length` and `output_length`, as
// Mooncake's traces have it. INVALID_ARGUMENT names the line.
absl::StatusOr<RequestTrace> ParseMooncakeTrace(absl::string_view text);

// The format is recognised by its first line.
absl::StatusOr<RequestTrace> ParseTrace(absl::string_view text);

double RequestsPerSecond(const RequestTrace& trace);

// The same requests at `requests_per_second` on average and for `duration`: whole requests are left
// out or repeated at random, so the shape over time stays.
RequestTrace ScaledTrace(const RequestTrace& trace, double requests_per_second, uint64_t seed);

}  // namespace gpuscaler
