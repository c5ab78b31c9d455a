#include "simulate/test_request_trace.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "simulate/arrivals.h"

namespace gpuscaler {
namespace {

// Uses the Box-Muller transform.
double Normal(std::mt19937_64& random) {
  const double radius = std::sqrt(-2 * std::log1p(-UniformRandom(random)));
  return radius * std::cos(2 * 3.14159265358979323846 * UniformRandom(random));
}

absl::Status LineError(size_t line, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("line ", line, ": ", why));
}

// Calls `parse` for each line that is not empty. Times are relative to the first one.
template <typename Parse>
absl::StatusOr<RequestTrace> ParseLines(absl::string_view text, size_t header, const Parse& parse) {
  RequestTrace trace;
  size_t number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (++number <= header || line.empty()) continue;
    ASSIGN_OR_RETURN(TracedRequest request, parse(number, line));
    // Some answers of the traces have no token, but the engine generates at least one.
    request.request.prompt_tokens = std::max<int64_t>(request.request.prompt_tokens, 1);
    request.request.max_tokens = std::max<int64_t>(request.request.max_tokens, 1);
    trace.push_back(request);
  }
  if (trace.empty()) return absl::InvalidArgumentError("the trace has no request");
  std::ranges::stable_sort(trace, {}, &TracedRequest::at);
  const absl::Duration first = trace.front().at;
  for (TracedRequest& request : trace) request.at -= first;
  return trace;
}

absl::StatusOr<TracedRequest> AzureRequest(size_t number, absl::string_view line) {
  const std::vector<absl::string_view> fields = absl::StrSplit(line, ',');
  absl::Time at;
  std::string error;
  TracedRequest request;
  const bool is_valid = fields.size() == 3 &&
                        absl::ParseTime("%Y-%m-%d %H:%M:%E*S", fields[0], &at, &error) &&
                        absl::SimpleAtoi(fields[1], &request.request.prompt_tokens) &&
                        absl::SimpleAtoi(fields[2], &request.request.max_tokens);
  if (!is_valid) {
    return LineError(number,
                     "use TIMESTAMP,ContextTokens,GeneratedTokens, such as "
                     "2023-11-16 18:15:46.6805900,374,44");
  }
  request.at = at - absl::UnixEpoch();
  return request;
}

absl::StatusOr<TracedRequest> MooncakeRequest(size_t number, absl::string_view line) {
  const auto json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  const auto integer = [&json](const char* key) -> std::optional<int64_t> {
    if (!json.is_object() || !json.contains(key) || !json[key].is_number()) return std::nullopt;
    return json[key].get<int64_t>();
  };
  const auto at = integer("timestamp"), prompt = integer("input_length"),
             answer = integer("output_length");
  if (!at || !prompt || !answer) {
    return LineError(number,
                     "use a JSON object with the numbers timestamp (milliseconds), "
                     "input_length and output_length");
  }
  return TracedRequest{.at = absl::Milliseconds(*at),
                       .request = {.prompt_tokens = *prompt, .max_tokens = *answer}};
}

}  // namespace

int64_t RandomLength(int64_t mean, const LengthSpread& spread, std::mt19937_64& random) {
  if (spread.deviation == 0) return mean;
  const double part =
      std::clamp(1 + spread.deviation * Normal(random), 1 - spread.spread, 1 + spread.spread);
  return std::max<int64_t>(1, std::llround(part * static_cast<double>(mean)));
}

RequestTrace PoissonTrace(const RateCurve& curve, absl::Duration duration,
                          const EngineRequest& request, uint64_t seed, const LengthSpread& prompts,
                          const LengthSpread& answers) {
  Arrivals arrivals(curve, duration, Spacing::kPoisson, seed);
  std::mt19937_64 random(seed + 1);
  RequestTrace trace;
  while (const auto at = arrivals.Next()) {
    const int64_t prompt = RandomLength(request.prompt_tokens, prompts, random);
    const int64_t answer = RandomLength(request.max_tokens, answers, random);
    trace.push_back({.at = *at, .request = {.prompt_tokens = prompt, .max_tokens = answer}});
  }
  return trace;
}

absl::StatusOr<RequestTrace> ParseAzureTrace(absl::string_view text) {
  return ParseLines(text, /*header=*/1, AzureRequest);
}

absl::StatusOr<RequestTrace> ParseMooncakeTrace(absl::string_view text) {
  return ParseLines(text, /*header=*/0, MooncakeRequest);
}

absl::StatusOr<RequestTrace> ParseTrace(absl::string_view text) {
  const absl::string_view start = absl::StripLeadingAsciiWhitespace(text);
  return absl::StartsWith(start, "{") ? ParseMooncakeTrace(text) : ParseAzureTrace(text);
}

double RequestsPerSecond(const RequestTrace& trace) {
  if (trace.empty() || trace.back().at <= absl::ZeroDuration()) return 0;
  return static_cast<double>(trace.size()) / absl::ToDoubleSeconds(trace.back().at);
}

RequestTrace ScaledTrace(const RequestTrace& trace, double requests_per_second, uint64_t seed) {
  const double rate = RequestsPerSecond(trace);
  if (rate == 0) return trace;
  const double times = requests_per_second / rate;
  // Copies arrive within a second after their original, not all at once.
  constexpr absl::Duration kSpread = absl::Seconds(1);
  std::mt19937_64 random(seed);
  RequestTrace scaled;
  for (const TracedRequest& request : trace) {
    const auto copies = static_cast<int>(times + UniformRandom(random));
    for (int i = 0; i < copies; ++i) {
      scaled.push_back(request);
      if (i > 0) scaled.back().at += kSpread * UniformRandom(random);
    }
  }
  std::ranges::stable_sort(scaled, {}, &TracedRequest::at);
  return scaled;
}

}  // namespace gpuscaler
