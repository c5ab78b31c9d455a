// One engine's batches: the sums behind the time per token and the cache per request.
//
// Under a constant load all batches are alike, and a fit over the last minutes would lose its
// slope. So the newest 5 min are kept of each class of batches, of half an octave: the busy ones
// too while the load is low. Longer prompts or other answers make them obsolete. Requests of
// another kind show in the tokens of an answer and in the cache of a request; classes of the former
// kind then keep their batches and take the time of the newest requests. Smaller differences show
// in the time per token alone, which the newest batches correct; older ones fade over 5 min.
#pragma once

#include <array>
#include <cstddef>

#include "absl/time/time.h"
#include "model/engine_demand.h"

namespace gpuscaler {

// Between two readings, of a batch of two requests or more.
struct ServiceStep {
  absl::Time at;  // its end
  absl::Duration took;
  double running = 0;  // on average
  double most_running = 0;
  double tokens = 0;         // generated
  double answers = 0;        // finished
  double answer_tokens = 0;  // that they had
  // The engine counts the tokens of an answer at its end. Then the tokens of some minutes do not
  // belong to their batches, though those of a longer time do.
  bool counts_ended = false;
  bool has_cache = false;
  double cache_ratio = 0;  // KV cache in use, on average
};

// Not thread-safe.
class ServiceTrack {
 public:
  // Must be later than all before.
  void Add(const ServiceStep& step);

  // Completes the steps added before: the next step does not follow it at once.
  void Pause() { Commit(); }

  // Classes as they would be with the newest requests (WithRequestsOf), without those that were
  // last seen more than a day before.
  ServiceSums Sums(absl::Time now) const;

 private:
  struct Batches {
    ServiceSums sums;
    RequestBin answered;  // without its time
    absl::Time at = absl::InfinitePast();

    // Older ones fade so that no more than `seconds` are kept.
    void Add(const Batches& newest, double seconds);
    bool AreOfKindOf(const Batches& other) const;
  };

  void Commit();

  // Averages over 10 s: prompts that are read delay the tokens of a single second.
  Batches open_;  // sums of n are not yet divided by the time
  double open_running_seconds_ = 0;
  bool open_shows_steps_ = true;     // none of its steps counts ended answers
  std::array<Batches, 24> classes_;  // from 2 to 8,192 requests
  Batches latest_;                   // a minute's
  Batches newest_;                   // 5 min's, or fewer since the kind changed
};

}  // namespace gpuscaler
