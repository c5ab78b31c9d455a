// How an inference engine serves requests: a queue, a batch, and steps that each give every request
// of the batch its next token, as vLLM's scheduler does.
//
// The simulated engine, the demo and the closed loop of src/simulate all run this model. A step
// costs the same work however long its requests are, so hours of simulated time take a second.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "batching/bucket_counts.h"
#include "batching/step_cost.h"

namespace gpuscaler {

struct BatchEngineOptions {
  int max_num_seqs = 256;  // requests in the batch, at most
  int64_t kv_cache_tokens = 400'000;
  StepCost step = StepCost::Between(60, 20, 256);
  // Requests and cache are shown as of the last step, as vLLM shows them: after all were aborted no
  // step follows, and the numbers stay (vLLM #22545).
  bool freeze_gauges = false;
};

struct EngineRequest {
  int64_t prompt_tokens = 1;
  int64_t max_tokens = 16;  // all of which it makes
};

// A request got its first token, or its last one. A request of one token has both events.
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

// Since the engine began. Only its tokens and its wait are counted of an aborted request.
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

// The caller's time must never go back. Not thread-safe.
class BatchEngine {
 public:
  explicit BatchEngine(const BatchEngineOptions& options) : options_(options) {}

  // Joins the queue; its id. INVALID_ARGUMENT: more tokens than the KV cache has.
  absl::StatusOr<int64_t> Submit(const EngineRequest& request, absl::Time now);

  // Leaves queue or batch at once. Does nothing if the request is in neither.
  void Abort(int64_t id);

  // Makes the steps that end by `now`. Returns what happens in them, in order.
  std::vector<EngineEvent> Advance(absl::Time now);

  // When the current step ends; infinite while there is nothing to do.
  absl::Time StepEnds() const { return step_ends_; }

  EngineGauges Gauges() const { return options_.freeze_gauges ? shown_ : Now(); }
  int64_t held() const { return static_cast<int64_t>(waiting_.size() + running_.size()); }
  const EngineTotals& totals() const { return totals_; }

 private:
  struct Held {
    int64_t id;
    EngineRequest request;
    absl::Time arrived;
    absl::Time first_token;
    absl::Time last_token;     // while it is not decoding
    int64_t made = 0;          // tokens, while it is not decoding
    int64_t made_before = 0;   // while it decodes: steps_ less its tokens
    int64_t prefill_left = 0;  // tokens
    bool begun = false;        // was in the batch before
  };

  bool IsDecoding(size_t place) const { return place < decoding_; }
  int64_t TokensOf(size_t place) const;  // place: in running_; tokens in the KV cache
  int64_t FinishStep(const Held& held) const { return held.made_before + held.request.max_tokens; }
  EngineGauges Now() const;
  void EndStep(absl::Time now, std::vector<EngineEvent>& events);
  void BeginDecoding(absl::Time now, std::vector<EngineEvent>& events);
  void TakeServed(absl::Time now, std::vector<EngineEvent>& events);
  void RemoveRunning(size_t place);
  void Preempt(absl::Time now);
  int64_t Prefill(Held& held, int64_t budget) const;
  bool AdmitNext(absl::Time now);
  void BeginStep(absl::Time now);

  const BatchEngineOptions options_;
  int64_t next_id_ = 1;
  std::deque<Held> waiting_;  // the next one first
  // In order of admission. Prompts are computed in that order too, so the first `decoding_` make
  // tokens and the others still wait for their prompts.
  std::vector<Held> running_;
  size_t decoding_ = 0;
  int64_t kv_tokens_ = 0;  // running requests only
  int64_t steps_ = 0;
  int64_t next_finish_ = 0;  // no decoding request has its last token before this step
  absl::Time step_ends_ = absl::InfiniteFuture();
  absl::Duration step_time_;
  EngineGauges shown_;  // as of the last step's end
  EngineTotals totals_;
};

}  // namespace gpuscaler
