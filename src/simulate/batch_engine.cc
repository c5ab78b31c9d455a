#include "simulate/batch_engine.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"

namespace gpuscaler {
namespace {

// Chunked prefill: the tokens of a step, prompts and answers together, with vLLM's default
// max_num_batched_tokens.
constexpr int64_t kTokensOfAStep = 2048;

}  // namespace

int64_t BatchEngine::TokensOf(size_t place) const {
  const Held& held = running_[place];
  const int64_t generated = IsDecoding(place) ? steps_ - held.step_offset : held.generated;
  return held.request.prompt_tokens + generated;
}

EngineGauges BatchEngine::CurrentGauges() const {
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
  if (running_.empty()) BeginStep(now);
  return next_id_++;
}

void BatchEngine::Abort(int64_t id) {
  const auto running = std::ranges::find(running_, id, &Held::id);
  if (running != running_.end()) {
    RemoveRunning(static_cast<size_t>(running - running_.begin()));
    ++totals_.aborted;
  }
  totals_.aborted += static_cast<int64_t>(
      std::erase_if(waiting_, [id](const Held& held) { return held.id == id; }));
  if (held() == 0) step_ends_ = absl::InfiniteFuture();
}

std::vector<EngineEvent> BatchEngine::Advance(absl::Time now) {
  std::vector<EngineEvent> events;
  while (step_ends_ <= now) {
    const absl::Time at = step_ends_;
    EndStep(at, events);
    BeginStep(at);
    last_gauges_ = CurrentGauges();
  }
  return events;
}

void BatchEngine::EndStep(absl::Time now, std::vector<EngineEvent>& events) {
  totals_.busy += step_time_;
  ++steps_;
  const auto tokens = static_cast<int64_t>(decoding_);
  kv_tokens_ += tokens;
  totals_.generation_tokens += tokens;
  if (tokens > 0) totals_.inter_token_seconds.Add(absl::ToDoubleSeconds(step_time_), tokens);
  BeginDecoding(now, events);
  if (steps_ >= next_finish_) RemoveServed(now, events);
  Preempt(now);
}

// The step that completes a prompt generates the first token.
void BatchEngine::BeginDecoding(absl::Time now, std::vector<EngineEvent>& events) {
  for (; decoding_ < running_.size() && running_[decoding_].prefill_left == 0; ++decoding_) {
    Held& held = running_[decoding_];
    if (held.generated == 0) {
      held.first_token = now;
      events.push_back(
          {.kind = EngineEvent::Kind::kFirstToken, .id = held.id, .at = now, .first_token = now});
      totals_.prompt_tokens += held.request.prompt_tokens;
      totals_.first_token_seconds.Add(absl::ToDoubleSeconds(now - held.arrived));
    } else {
      totals_.inter_token_seconds.Add(absl::ToDoubleSeconds(now - held.last_token));
    }
    held.step_offset = steps_ - held.generated - 1;
    ++kv_tokens_;
    ++totals_.generation_tokens;
    next_finish_ = std::min(next_finish_, FinishStep(held));
  }
}

void BatchEngine::RemoveRunning(size_t place) {
  kv_tokens_ -= TokensOf(place);
  if (IsDecoding(place)) --decoding_;
  running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(place));
}

void BatchEngine::RemoveServed(absl::Time now, std::vector<EngineEvent>& events) {
  next_finish_ = std::numeric_limits<int64_t>::max();
  size_t stays = 0;
  for (size_t place = 0; place < decoding_; ++place) {
    const Held& held = running_[place];
    if (FinishStep(held) > steps_) {
      next_finish_ = std::min(next_finish_, FinishStep(held));
      if (stays != place) running_[stays] = held;
      ++stays;
      continue;
    }
    kv_tokens_ -= TokensOf(place);
    ++totals_.served;
    totals_.latency_seconds.Add(absl::ToDoubleSeconds(now - held.arrived));
    totals_.answer_tokens.Add(static_cast<double>(held.request.max_tokens));
    events.push_back({.kind = EngineEvent::Kind::kServed,
                      .id = held.id,
                      .at = now,
                      .first_token = held.first_token});
  }
  running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(stays),
                 running_.begin() + static_cast<std::ptrdiff_t>(decoding_));
  decoding_ = stays;
}

// The next step needs room for one token per request. If there is none, the newest request returns
// to the head of the queue, and its prompt and answer so far are computed again.
void BatchEngine::Preempt(absl::Time now) {
  while (running_.size() > 1 &&
         kv_tokens_ + static_cast<int64_t>(running_.size()) > options_.kv_cache_tokens) {
    const size_t last = running_.size() - 1;
    Held held = running_[last];
    if (IsDecoding(last)) {
      held.generated = steps_ - held.step_offset;
      held.last_token = now;
    }
    RemoveRunning(last);
    waiting_.push_front(held);
    ++totals_.preemptions;
  }
}

// Computes as much of the prompt as the budget allows. Returns the remaining budget.
int64_t BatchEngine::Prefill(Held& held, int64_t budget) const {
  const int64_t tokens = std::min(held.prefill_left, budget);
  held.prefill_left -= tokens;
  return budget - tokens;
}

bool BatchEngine::AdmitNext(absl::Time now) {
  if (waiting_.empty() || static_cast<int>(running_.size()) >= options_.max_num_seqs) return false;
  Held& next = waiting_.front();
  const int64_t tokens = next.request.prompt_tokens + next.generated;
  const auto others = static_cast<int64_t>(running_.size());
  if (kv_tokens_ + tokens + others + 1 > options_.kv_cache_tokens && others > 0) return false;
  next.prefill_left = tokens;
  if (!next.begun) {
    totals_.queue_seconds.Add(
        absl::ToDoubleSeconds(std::max(now - next.arrived, absl::ZeroDuration())));
  }
  next.begun = true;
  kv_tokens_ += tokens;
  running_.push_back(next);
  waiting_.pop_front();
  return true;
}

void BatchEngine::BeginStep(absl::Time now) {
  const int64_t budget = std::max<int64_t>(kTokensOfAStep - static_cast<int64_t>(decoding_), 1);
  int64_t left = budget;
  for (size_t place = decoding_; place < running_.size() && left > 0; ++place) {
    left = Prefill(running_[place], left);
  }
  while (left > 0 && AdmitNext(now)) left = Prefill(running_.back(), left);
  step_time_ = options_.step.Of(static_cast<int64_t>(running_.size()), kv_tokens_, budget - left);
  step_ends_ = running_.empty() ? absl::InfiniteFuture() : now + step_time_;
}

}  // namespace gpuscaler
