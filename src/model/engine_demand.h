// The requests that one engine received and its work on them, as sums that add up over engines.
#pragma once

#include <algorithm>
#include <vector>

#include "absl/time/time.h"

namespace gpuscaler {

// Bins begin at multiples of this, on every reader's clock.
inline constexpr absl::Duration kDemandBin = absl::Seconds(10);
inline absl::Time BeginOfBin(absl::Time at) {
  return absl::UnixEpoch() + absl::Floor(at - absl::UnixEpoch(), kDemandBin);
}

// The sums behind two ratios, over the time with a batch of two requests or more:
//   time per token at a batch of n = a + b n, least squares weighted by tokens;
//   KV cache per running request.
// Each step gives every running request one token: n requests make n / (a + b n) tokens a second.
struct ServiceSums {
  double seconds = 0;
  double tokens = 0;                  // g
  double running_tokens = 0;          // sum of n g
  double running_squared_tokens = 0;  // sum of n^2 g
  double running_seconds = 0;         // sum of n dt, which is the sum of g (a + b n)
  double running_squared_seconds = 0;
  double kv_seconds = 0;          // sum of KV ratio dt
  double kv_running_seconds = 0;  // sum of n dt where the ratio is known
  double largest_batch = 0;

  ServiceSums& operator+=(const ServiceSums& other) {
    seconds += other.seconds;
    tokens += other.tokens;
    running_tokens += other.running_tokens;
    running_squared_tokens += other.running_squared_tokens;
    running_seconds += other.running_seconds;
    running_squared_seconds += other.running_squared_seconds;
    kv_seconds += other.kv_seconds;
    kv_running_seconds += other.kv_running_seconds;
    largest_batch = std::max(largest_batch, other.largest_batch);
    return *this;
  }

  // Keeps `largest_batch`.
  ServiceSums& operator*=(double factor) {
    for (double* const sum :
         {&seconds, &tokens, &running_tokens, &running_squared_tokens, &running_seconds,
          &running_squared_seconds, &kv_seconds, &kv_running_seconds}) {
      *sum *= factor;
    }
    return *this;
  }

  friend bool operator==(const ServiceSums&, const ServiceSums&) = default;
};

// The requests of one `kDemandBin`. Growth between two readings is spread evenly over the time
// between them.
struct RequestBin {
  absl::Time begin;
  double arrived = 0;        // finished, plus the growth of those in flight; may be negative
  double answers = 0;        // finished, with known tokens
  double answer_tokens = 0;  // tokens of `answers`

  void AddAnswers(const RequestBin& other) {
    answers += other.answers;
    answer_tokens += other.answer_tokens;
  }

  friend bool operator==(const RequestBin&, const RequestBin&) = default;
};

// The first tokens of about one `kDemandBin`.
struct FirstTokenBin {
  absl::Time begin;
  double first_tokens = 0;
  double late = 0;           // first tokens later than EngineQuery::ttft_slo
  absl::Duration congested;  // time in which requests waited, or the KV cache was above 85 %
  double waiting = 0;        // requests waiting at its end

  friend bool operator==(const FirstTokenBin&, const FirstTokenBin&) = default;
};

struct EngineDemand {
  // The first reading that counts. InfinitePast: only the agent's record of the engine is
  // available, without arrivals.
  absl::Time first_at;
  absl::Time newest_at;  // the last reading that counts
  // The first reading found a new process: no request arrived before `first_at`.
  bool began_here = false;
  double waiting = 0;            // at the newest reading
  double running = 0;            // at the newest reading
  std::vector<RequestBin> bins;  // oldest first, one after the other
  ServiceSums service;
  std::vector<FirstTokenBin> first_tokens;  // oldest first; empty unless requested

  friend bool operator==(const EngineDemand&, const EngineDemand&) = default;
};

}  // namespace gpuscaler
