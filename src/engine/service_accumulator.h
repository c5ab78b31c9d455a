// The batches of one engine: the sums behind the time per token and the cache per request.
//
// Under a constant load all batches have the same size, so a fit over the last minutes would lose
// its slope. Each class of batches, half an octave wide, therefore keeps its newest 5 min, and the
// large ones are kept while the load is low. Longer prompts or other answers make them obsolete.
// Requests of another kind are detected by tokens per answer and cache per request. Classes of the
// former kind then keep their batch sizes and take the time of the newest requests. Smaller
// differences appear in the time per token only, which the newest batches correct; older ones fade
// over 5 min.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "absl/time/time.h"
#include "model/engine_demand.h"

namespace gpuscaler {

// One reading of an engine. An empty field was not reported.
struct ServiceReading {
  absl::Time at;
  // The counters continue those of the previous reading.
  bool continues = true;
  std::optional<double> waiting;
  std::optional<double> running;
  std::optional<double> kv_cache_usage_ratio;
  std::optional<double> requests_done;
  std::optional<double> generation_tokens;  // includes tokens of unfinished answers
  // Counted when an answer is finished. Agents of earlier versions do not send them, and the tokens
  // per answer are then unknown.
  std::optional<double> answers;
  std::optional<double> answer_tokens;
  std::optional<double> counters_began;  // seconds since the epoch
};

// Returns true if both readings have the counters of answers.
bool ShowAnswers(const ServiceReading& older, const ServiceReading& newer);

// Not thread-safe.
class ServiceAccumulator {
 public:
  // Adds the time between two readings, with a batch of two requests or more. Requires `running`
  // and `generation_tokens`. `newer` must be later than all before.
  void Add(const ServiceReading& older, const ServiceReading& newer);

  // Completes the current average. Must be called if the next step does not follow directly.
  void Pause() { Commit(); }

  // Adds all classes, adjusted to the newest requests (AdjustedToNewest). Classes not observed for
  // more than a day are left out.
  ServiceSums Sums(absl::Time now) const;

 private:
  struct Batches {
    ServiceSums sums;
    RequestBin answered;  // its time is unused
    absl::Time at = absl::InfinitePast();

    // Older batches fade so that at most `seconds` are kept.
    void Add(const Batches& newest, double seconds);
    // Returns true if about as many tokens ended with their answers as were generated. After an
    // idle time or a step of the load most requests are young, and occupy little cache. Also true
    // if the engine counts the tokens of an answer at its end (SGLang): ages are then unknown.
    bool AreOfAllAges() const;
    bool AreSameKindAs(const Batches& other) const;
  };

  void Commit();

  // The current average of 10 s. Prefill delays the tokens of a single second.
  Batches open_;  // sums over n are not yet divided by the time
  double open_running_seconds_ = 0;
  // The engine counts the tokens of an answer at its end if this is false. Tokens of some minutes
  // then do not belong to their batches, but those of a longer time do.
  bool open_shows_steps_ = true;
  std::array<Batches, 24> classes_;  // from 2 to 8,192 requests
  Batches latest_;                   // the last minute
  Batches newest_;                   // the last 5 min, or less since the kind changed
};

}  // namespace gpuscaler
