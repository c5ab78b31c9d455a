#include "serve/waiting_calls.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace gpuscaler {

void WaitingCalls::Add(absl::Time deadline, const std::string& peer, size_t bytes,
                       Attempt attempt) {
  {
    MutexLock lock(mutex_);
    if (Share& share = shares_[peer]; !closed_ && HasRoom(share, bytes)) {
      for (Share* const counted : {&share, &all_}) {
        ++counted->calls;
        counted->bytes += bytes;
      }
      calls_.push_back({deadline, peer, bytes, std::move(attempt)});
      return;
    }
    if (shares_[peer].calls == 0) shares_.erase(peer);
  }
  attempt(true);
}

bool WaitingCalls::HasRoom(const Share& share, size_t bytes) const {
  const size_t calls_left = kMostCalls - (all_.calls - share.calls);
  const size_t bytes_left = kMostBytes - (all_.bytes - share.bytes);
  return share.calls < calls_left / 2 && share.bytes + bytes <= bytes_left / 2;
}

void WaitingCalls::Retry(absl::Time now) {
  std::vector<Call> calls;
  {
    MutexLock lock(mutex_);
    calls.swap(calls_);
  }
  const auto answered = std::stable_partition(calls.begin(), calls.end(), [now](const Call& call) {
    return !call.attempt(now >= call.deadline);
  });
  {
    MutexLock lock(mutex_);
    for (auto call = answered; call != calls.end(); ++call) {
      const auto share = shares_.find(call->peer);
      for (Share* const counted : {&share->second, &all_}) {
        --counted->calls;
        counted->bytes -= call->bytes;
      }
      if (share->second.calls == 0) shares_.erase(share);
    }
    calls.erase(answered, calls.end());
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
  return all_.calls;
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
