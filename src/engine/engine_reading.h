// What an inference engine says of itself at one instant. An empty field is what it did not say:
// never 0 instead.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace gpuscaler {

// A histogram as Prometheus has it: each bucket counts all that were not above its bound, since
// the counters began.
struct Histogram {
  struct Bucket {
    double not_above = 0;
    double count = 0;

    friend bool operator==(const Bucket&, const Bucket&) = default;
  };
  std::vector<Bucket> buckets;  // by bound; the last one's is infinite

  double Count() const { return buckets.empty() ? 0 : buckets.back().count; }

  friend bool operator==(const Histogram&, const Histogram&) = default;
};

// One that has counted nothing, and gets its bounds with what it counts first.
Histogram HistogramToCome();
bool IsToCome(const Histogram& histogram);

// Only then can their counts be added or compared.
bool HaveSameBounds(const Histogram& a, const Histogram& b);

// Of one model, or of several added up.
struct ModelReading {
  std::string model;  // empty where the engine does not name it, and of a total

  // Now. Those in `running` hold a place in the batch, those in `waiting` none yet.
  std::optional<double> waiting;
  std::optional<double> running;
  std::optional<double> kv_cache_usage_ratio;  // 0-1, of the fullest cache
  std::optional<double> limit;                 // most requests that it lets run at once

  // Counted since `counters_began`, all of them at once from 0 when the engine starts again.
  std::optional<double> requests_done;
  std::optional<double> queued_requests;  // that have left the queue, after `queue_seconds`
  std::optional<double> queue_seconds;
  std::optional<double> prompt_tokens;
  std::optional<double> generation_tokens;
  std::optional<double> preemptions;
  std::optional<double> answers;        // finished ones, and the tokens that they have: without
  std::optional<double> answer_tokens;  // those of answers that are still being generated
  std::optional<Histogram> first_token_seconds;   // TTFT: from a request's arrival
  std::optional<Histogram> output_token_seconds;  // TPOT: from one token to the next

  std::optional<double> counters_began;  // seconds since the epoch; few engines tell

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

// As on the page: a number that it said, but that cannot be, or that it would have to say and does
// not, is NaN, and a histogram that is none has no buckets. Of what ReadingOf() makes of it such
// fields are empty.
struct EngineReading {
  std::vector<ModelReading> models;  // by name; none where the engine has loaded none

  friend bool operator==(const EngineReading&, const EngineReading&) = default;
};

// Of the model of that name, or of all together where the name is empty: requests, limits and
// counters add up, and of the caches the fullest counts (see Adding). A sum is empty where a part
// of it cannot be told; models that have nothing of the kind are no part. Empty altogether: the
// page has no such model.
std::optional<ModelReading> ReadingOf(const EngineReading& reading, absl::string_view model);

// As SignalSeries::models.
std::string ModelsOf(const EngineReading& reading);

}  // namespace gpuscaler
