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

#include "absl/time/time.h"
#include "model/engine_demand.h"

namespace gpuscaler {

// The time between two readings, with a batch of two requests or more.
struct ServiceStep {
  absl::Time at;  // end
  absl::Duration took;
  double running = 0;  // mean
  double most_running = 0;
  double tokens = 0;         // generated
  double answers = 0;        // finished
  double answer_tokens = 0;  // tokens of these answers
  // The engine counts the tokens of an answer at its end. Tokens of some minutes then do not belong
  // to their batches, but those of a longer time do.
  bool counts_ended = false;
  bool has_cache = false;
  double cache_ratio = 0;  // mean KV cache in use
};

// Not thread-safe.
class ServiceAccumulator {
 public:
  // `step` must be later than all before.
  void Add(const ServiceStep& step);

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
  bool open_shows_steps_ = true;     // no step so far counts ended answers
  std::array<Batches, 24> classes_;  // from 2 to 8,192 requests
  Batches latest_;                   // the last minute
  Batches newest_;                   // the last 5 min, or less since the kind changed
};

}  // namespace gpuscaler
