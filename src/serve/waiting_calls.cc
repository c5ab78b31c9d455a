#include "serve/waiting_calls.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace gpuscaler {

void WaitingCalls::Add(absl::Time deadline, size_t bytes, Attempt attempt) {
  {
    MutexLock lock(mutex_);
    if (!closed_ && size_ < kMostCalls && bytes <= kMostBytes - bytes_) {
      calls_.push_back({deadline, bytes, std::move(attempt)});
      ++size_;
      bytes_ += bytes;
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
  size_t answered = 0;
  size_t answered_bytes = 0;
  std::erase_if(calls, [&](const Call& call) {
    const bool answers = call.attempt(now >= call.deadline);
    answered += answers ? 1 : 0;
    answered_bytes += answers ? call.bytes : 0;
    return answers;
  });
  {
    MutexLock lock(mutex_);
    size_ -= answered;
    bytes_ -= answered_bytes;
    if (!closed_) {
      calls_.insert(calls_.end(), std::make_move_iterator(calls.begin()),
                    std::make_move_iterator(calls.end()));
      return;
    }
  }
  for (const Call& call : calls) call.attempt(true);  // closed in the meantime
}

size_t WaitingCalls::size() const {
  MutexLock lock(mutex_);
  return size_;
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
