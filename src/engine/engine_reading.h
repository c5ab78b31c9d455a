// The metrics of an inference engine at one instant. An empty field was not reported: never 0
// instead.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace gpuscaler {

// A Prometheus histogram: each bucket counts all observations up to its bound since the counters
// began.
struct Histogram {
  struct Bucket {
    double not_above = 0;
    double count = 0;

    friend bool operator==(const Bucket&, const Bucket&) = default;
  };
  std::vector<Bucket> buckets;  // sorted by bound; the last bound is +Inf

  double Count() const { return buckets.empty() ? 0 : buckets.back().count; }

  friend bool operator==(const Histogram&, const Histogram&) = default;
};

// The bounds are unknown until the first observation.
Histogram UnobservedHistogram();
bool IsUnobserved(const Histogram& histogram);

// Only counts with the same bounds can be added or compared.
bool HaveSameBounds(const Histogram& a, const Histogram& b);

// The reading of one model, or the sum over several.
struct ModelReading {
  std::string model;  // empty if the engine exports no name, and in a sum

  // Gauges. Requests in `running` have a place in the batch, those in `waiting` do not.
  std::optional<double> waiting;
  std::optional<double> running;
  std::optional<double> kv_cache_usage_ratio;  // 0-1, of the fullest cache
  std::optional<double> limit;                 // maximum number of running requests

  // Counters since `counters_began`. All of them restart at 0 with the engine.
  std::optional<double> requests_done;
  std::optional<double> queued_requests;  // that left the queue, after `queue_seconds` in total
  std::optional<double> queue_seconds;
  std::optional<double> prompt_tokens;
  std::optional<double> generation_tokens;
  std::optional<double> preemptions;
  // Finished responses and their tokens. Tokens of responses in progress do not count.
  std::optional<double> answers;
  std::optional<double> answer_tokens;
  std::optional<Histogram> first_token_seconds;   // TTFT: since the arrival of the request
  std::optional<Histogram> output_token_seconds;  // TPOT: since the previous token

  std::optional<double> counters_began;  // seconds since the epoch; few engines export it

  friend bool operator==(const ModelReading&, const ModelReading&) = default;
};

using ModelNumber = std::optional<double> ModelReading::*;
using ModelHistogram = std::optional<Histogram> ModelReading::*;

constexpr std::array<ModelNumber, 8> kModelCounters = {
    &ModelReading::requests_done, &ModelReading::queued_requests,   &ModelReading::queue_seconds,
    &ModelReading::prompt_tokens, &ModelReading::generation_tokens, &ModelReading::preemptions,
    &ModelReading::answers,       &ModelReading::answer_tokens};
constexpr std::array<ModelHistogram, 2> kModelHistograms = {&ModelReading::first_token_seconds,
                                                            &ModelReading::output_token_seconds};

// The exposition's values. An invalid or missing number that the engine must export is NaN. An
// invalid histogram has no buckets. ReadingOf() clears both.
struct EngineReading {
  std::vector<ModelReading> models;  // sorted by name; none if the engine has loaded none

  friend bool operator==(const EngineReading&, const EngineReading&) = default;
};

// Returns the reading of `model`, or of all models if it is empty: requests, limits and counters
// are added, and the fullest cache counts. A sum is empty if one of its parts is invalid; models
// without the field are skipped. Returns nullopt if the exposition lacks the model.
std::optional<ModelReading> ReadingOf(const EngineReading& reading, absl::string_view model);

// Returns SignalSeries::models.
std::string ModelsOf(const EngineReading& reading);

}  // namespace gpuscaler
