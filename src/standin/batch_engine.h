// How an inference engine serves requests: a queue, a batch, and steps that each give every request
// of the batch its next token, as vLLM's scheduler does.
//
// A step reads the weights once, however many requests share it, and then each request's part of
// the KV cache: its time is a straight line over the size of the batch. So a fuller batch is slower
// for each request and faster for all of them together.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "standin/bucket_counts.h"

namespace gpuscaler {

struct BatchEngineOptions {
  int max_num_seqs = 256;  // requests in the batch, at most
  int64_t kv_cache_tokens = 400'000;
  double tokens_per_second = 60;             // of a request that is alone in the batch
  double full_batch_tokens_per_second = 20;  // of each in a full one; not more than that
  // Requests and cache are shown as of the last step, as vLLM shows them: after all were aborted no
  // step follows, and the numbers stay (vLLM #22545).
  bool freeze_gauges = false;
};

struct EngineRequest {
  int64_t prompt_tokens = 1;
  int64_t max_tokens = 16;  // all of which it makes
};

struct EngineGauges {
  int running = 0;
  int waiting = 0;
  double kv_cache_usage_ratio = 0;  // 0-1
};

// Since the engine began. An aborted request is in none of them but what it had done by then.
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
};

// Time is what the caller says it is, and never goes back. Not thread-safe.
class BatchEngine {
 public:
  explicit BatchEngine(const BatchEngineOptions& options) : options_(options) {}

  // Joins the queue; its id. INVALID_ARGUMENT: more tokens than the KV cache has.
  absl::StatusOr<int64_t> Submit(const EngineRequest& request, absl::Time now);

  // Out of queue or batch at once. Nothing happens for one that is neither there.
  void Abort(int64_t id);

  // Makes the steps that end by `now`; the requests that are served with them, in their order.
  std::vector<int64_t> Advance(absl::Time now);

  // When the step ends that is being made; infinite while there is nothing to do.
  absl::Time StepEnds() const { return step_ends_; }

  EngineGauges Gauges() const { return options_.freeze_gauges ? shown_ : Now(); }
  int64_t held() const { return static_cast<int64_t>(waiting_.size() + running_.size()); }
  const EngineTotals& totals() const { return totals_; }

 private:
  struct Held {
    int64_t id;
    EngineRequest request;
    absl::Time arrived;
    int64_t prefill_steps = 0;  // to go before the next token
    int64_t made = 0;           // tokens
    absl::Time last_token;
    bool begun = false;  // was in the batch before
  };

  int64_t TokensOf(const Held& held) const { return held.request.prompt_tokens + held.made; }
  absl::Duration StepTime() const;
  EngineGauges Now() const;
  void StepOf(Held& held, absl::Time now);
  void MakeToken(Held& held, absl::Time now);
  std::vector<int64_t> TakeServed(absl::Time now);
  void Preempt();
  void Admit(absl::Time now);
  void BeginStep(absl::Time now);

  const BatchEngineOptions options_;
  int64_t next_id_ = 1;
  std::deque<Held> waiting_;   // the next one first
  std::vector<Held> running_;  // in order of admission
  int64_t kv_tokens_ = 0;      // of those running
  absl::Time step_ends_ = absl::InfiniteFuture();
  absl::Duration step_time_;
  EngineGauges shown_;  // as of the last step's end
  EngineTotals totals_;
};

}  // namespace gpuscaler
