#include "serve/waiting_calls.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace gpuscaler {

void WaitingCalls::Add(absl::Time deadline, Attempt attempt) {
  {
    MutexLock lock(mutex_);
    if (!closed_ && calls_.size() < kMostCalls) {
      calls_.push_back({deadline, std::move(attempt)});
      return;
    }
  }
  attempt(true);
}

void WaitingCalls::Retry(absl::Time now) {
  std::vector<Call> calls;
  {
    MutexLock lock(mutex_);
    calls.swap(calls_);
  }
  std::erase_if(calls, [now](const Call& call) { return call.attempt(now >= call.deadline); });
  if (calls.empty()) return;
  {
    MutexLock lock(mutex_);
    if (!closed_) {
      calls_.insert(calls_.end(), std::make_move_iterator(calls.begin()),
                    std::make_move_iterator(calls.end()));
      return;
    }
  }
  for (const Call& call : calls) call.attempt(true);  // closed in the meantime
}

absl::Time WaitingCalls::NextDeadline() const {
  MutexLock lock(mutex_);
  absl::Time next = absl::InfiniteFuture();
  for (const Call& call : calls_) next = std::min(next, call.deadline);
  return next;
}

void WaitingCalls::Close() {
  {
    MutexLock lock(mutex_);
    closed_ = true;
  }
  Retry(absl::InfiniteFuture());
}

}  // namespace gpuscaler
