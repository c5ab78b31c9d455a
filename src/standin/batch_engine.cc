#include "standin/batch_engine.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace gpuscaler {
namespace {

// A prompt is read in pieces of so many tokens, one a step: chunked prefill, with the
// max_num_batched_tokens that vLLM has by default. That they share it is left out.
constexpr int64_t kPrefillTokensOfAStep = 2048;

int64_t PrefillSteps(int64_t tokens) {
  return (tokens + kPrefillTokensOfAStep - 1) / kPrefillTokensOfAStep;
}

}  // namespace

absl::Duration BatchEngine::StepTime() const {
  const double alone = 1 / options_.tokens_per_second;
  const double full = 1 / options_.full_batch_tokens_per_second;
  const double others = static_cast<double>(running_.size()) - 1;
  const double share = options_.max_num_seqs > 1 ? others / (options_.max_num_seqs - 1) : 0;
  return absl::Seconds(alone + (full - alone) * share);
}

EngineGauges BatchEngine::Now() const {
  return {.running = static_cast<int>(running_.size()),
          .waiting = static_cast<int>(waiting_.size()),
          .kv_cache_usage_ratio =
              static_cast<double>(kv_tokens_) / static_cast<double>(options_.kv_cache_tokens)};
}

absl::StatusOr<int64_t> BatchEngine::Submit(const EngineRequest& request, absl::Time now) {
  const int64_t most = request.prompt_tokens + request.max_tokens;
  if (most > options_.kv_cache_tokens) {
    return absl::InvalidArgumentError(absl::StrCat("the KV cache holds ", options_.kv_cache_tokens,
                                                   " tokens, and prompt and ", "max_tokens are ",
                                                   most));
  }
  waiting_.push_back({.id = next_id_, .request = request, .arrived = now});
  if (running_.empty()) {
    Admit(now);
    BeginStep(now);
  }
  return next_id_++;
}

void BatchEngine::Abort(int64_t id) {
  const auto is_it = [id](const Held& held) { return held.id == id; };
  const auto running = std::ranges::find_if(running_, is_it);
  if (running != running_.end()) {
    kv_tokens_ -= TokensOf(*running);
    running_.erase(running);
    ++totals_.aborted;
  }
  totals_.aborted += static_cast<int64_t>(std::erase_if(waiting_, is_it));
  if (held() == 0) step_ends_ = absl::InfiniteFuture();
}

std::vector<int64_t> BatchEngine::Advance(absl::Time now) {
  std::vector<int64_t> served;
  while (step_ends_ <= now) {
    const absl::Time at = step_ends_;
    totals_.busy += step_time_;
    for (Held& held : running_) StepOf(held, at);
    for (const int64_t id : TakeServed(at)) served.push_back(id);
    Preempt();
    Admit(at);
    shown_ = Now();
    BeginStep(at);
  }
  return served;
}

void BatchEngine::StepOf(Held& held, absl::Time now) {
  if (held.prefill_steps > 1) {
    --held.prefill_steps;
    return;
  }
  held.prefill_steps = 0;
  MakeToken(held, now);
}

void BatchEngine::MakeToken(Held& held, absl::Time now) {
  if (held.made == 0) {
    totals_.prompt_tokens += held.request.prompt_tokens;
    totals_.first_token_seconds.Add(absl::ToDoubleSeconds(now - held.arrived));
  } else {
    totals_.inter_token_seconds.Add(absl::ToDoubleSeconds(now - held.last_token));
  }
  held.last_token = now;
  ++held.made;
  ++kv_tokens_;
  ++totals_.generation_tokens;
}

std::vector<int64_t> BatchEngine::TakeServed(absl::Time now) {
  std::vector<int64_t> served;
  std::erase_if(running_, [&](const Held& held) {
    if (held.made < held.request.max_tokens) return false;
    served.push_back(held.id);
    kv_tokens_ -= TokensOf(held);
    totals_.latency_seconds.Add(absl::ToDoubleSeconds(now - held.arrived));
    return true;
  });
  totals_.served += static_cast<int64_t>(served.size());
  return served;
}

// The next step needs room for a token of each: where there is none, the newest goes back to the
// head of the queue, and what it had is computed again.
void BatchEngine::Preempt() {
  while (running_.size() > 1 &&
         kv_tokens_ + static_cast<int64_t>(running_.size()) > options_.kv_cache_tokens) {
    kv_tokens_ -= TokensOf(running_.back());
    waiting_.push_front(running_.back());
    running_.pop_back();
    ++totals_.preemptions;
  }
}

void BatchEngine::Admit(absl::Time now) {
  while (!waiting_.empty() && static_cast<int>(running_.size()) < options_.max_num_seqs) {
    Held& next = waiting_.front();
    const int64_t tokens = TokensOf(next);
    const auto others = static_cast<int64_t>(running_.size());
    if (kv_tokens_ + tokens + others + 1 > options_.kv_cache_tokens && others > 0) return;
    next.prefill_steps = PrefillSteps(tokens);
    if (!next.begun) {
      totals_.queue_seconds.Add(
          absl::ToDoubleSeconds(std::max(now - next.arrived, absl::ZeroDuration())));
    }
    next.begun = true;
    kv_tokens_ += tokens;
    running_.push_back(next);
    waiting_.pop_front();
  }
}

void BatchEngine::BeginStep(absl::Time now) {
  step_time_ = StepTime();
  step_ends_ = running_.empty() ? absl::InfiniteFuture() : now + step_time_;
}

}  // namespace gpuscaler
