// Continuous batching, like vLLM's scheduler: a queue, a batch, and steps that each generate the
// next token of every request of the batch.
//
// The simulated engine, the demo and the closed loop of src/simulate all use this model. The time
// to simulate a step does not depend on the lengths of its requests, so hours take a second.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "simulate/bucket_counts.h"
#include "simulate/step_cost.h"

namespace gpuscaler {

struct BatchEngineOptions {
  int max_num_seqs = 256;  // most requests in the batch
  int64_t kv_cache_tokens = 400'000;
  StepCost step = StepCost::Between(60, 20, 256);
  // Gauges are those of the last step, as in vLLM: after an abort of all requests no step follows,
  // and the values stay (vLLM #22545).
  bool freeze_gauges = false;
};

struct EngineRequest {
  int64_t prompt_tokens = 1;
  int64_t max_tokens = 16;  // always generated in full
};

// A request generated its first or its last token. A request of one token has both events.
struct EngineEvent {
  enum class Kind { kFirstToken, kServed };
  Kind kind;
  int64_t id = 0;
  absl::Time at;
  absl::Time first_token;
};

struct EngineGauges {
  int running = 0;
  int waiting = 0;
  double kv_cache_usage_ratio = 0;  // 0-1
};

// Totals since the engine began. An aborted request counts with its tokens and its wait only.
struct EngineTotals {
  int64_t served = 0;
  int64_t aborted = 0;
  int64_t prompt_tokens = 0;
  int64_t generation_tokens = 0;
  int64_t preemptions = 0;
  absl::Duration busy;  // time in steps
  BucketCounts first_token_seconds = BucketCounts::OfRequests();
  BucketCounts inter_token_seconds = BucketCounts::OfTokens();
  BucketCounts queue_seconds = BucketCounts::OfRequests();
  BucketCounts latency_seconds = BucketCounts::OfRequests();
  BucketCounts answer_tokens = BucketCounts::OfAnswers();  // served requests only
};

// `now` must never decrease between calls. Not thread-safe.
class BatchEngine {
 public:
  explicit BatchEngine(const BatchEngineOptions& options) : options_(options) {}

  // Adds a request to the queue and returns its id. Returns INVALID_ARGUMENT if it has more tokens
  // than the KV cache.
  absl::StatusOr<int64_t> Submit(const EngineRequest& request, absl::Time now);

  // Removes the request from queue or batch. Does nothing if it is in neither.
  void Abort(int64_t id);

  // Makes the steps that end by `now`. Returns their events, in order.
  std::vector<EngineEvent> Advance(absl::Time now);

  // InfiniteFuture(): the engine is idle.
  absl::Time StepEnds() const { return step_ends_; }

  EngineGauges Gauges() const { return options_.freeze_gauges ? last_gauges_ : CurrentGauges(); }
  int64_t held() const { return static_cast<int64_t>(waiting_.size() + running_.size()); }
  const EngineTotals& totals() const { return totals_; }

 private:
  struct Held {
    int64_t id;
    EngineRequest request;
    absl::Time arrived;
    absl::Time first_token;
    absl::Time last_token;     // if it is not decoding
    int64_t generated = 0;     // tokens, if it is not decoding
    int64_t step_offset = 0;   // if it decodes: steps_ minus its tokens
    int64_t prefill_left = 0;  // tokens
    bool begun = false;        // was in the batch before
  };

  bool IsDecoding(size_t place) const { return place < decoding_; }
  int64_t TokensOf(size_t place) const;  // tokens in the KV cache; place: index in running_
  int64_t FinishStep(const Held& held) const { return held.step_offset + held.request.max_tokens; }
  EngineGauges CurrentGauges() const;
  void EndStep(absl::Time now, std::vector<EngineEvent>& events);
  void BeginDecoding(absl::Time now, std::vector<EngineEvent>& events);
  void RemoveServed(absl::Time now, std::vector<EngineEvent>& events);
  void RemoveRunning(size_t place);
  void Preempt(absl::Time now);
  int64_t Prefill(Held& held, int64_t budget) const;
  bool AdmitNext(absl::Time now);
  void BeginStep(absl::Time now);

  const BatchEngineOptions options_;
  int64_t next_id_ = 1;
  std::deque<Held> waiting_;  // next one first
  // In order of admission. Prompts are computed in that order, so the first `decoding_` generate
  // tokens and the others wait for their prompts.
  std::vector<Held> running_;
  size_t decoding_ = 0;
  int64_t kv_tokens_ = 0;  // running requests only
  int64_t steps_ = 0;
  int64_t next_finish_ = 0;  // no decoding request generates its last token before this step
  absl::Time step_ends_ = absl::InfiniteFuture();
  absl::Duration step_time_;
  EngineGauges last_gauges_;  // at the end of the last step
  EngineTotals totals_;
};

}  // namespace gpuscaler
