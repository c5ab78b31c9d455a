#include "serve/waiting_calls.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace gpuscaler {

void WaitingCalls::Add(absl::Time deadline, const std::string& peer, size_t bytes,
                       Attempt attempt) {
  {
    MutexLock lock(mutex_);
    if (Usage& usage = per_peer_[peer]; !closed_ && HasRoom(usage, bytes)) {
      for (Usage* const counted : {&usage, &all_}) {
        ++counted->calls;
        counted->bytes += bytes;
      }
      calls_.push_back({deadline, peer, bytes, std::move(attempt)});
      return;
    }
    if (per_peer_[peer].calls == 0) per_peer_.erase(peer);
  }
  attempt(true);
}

bool WaitingCalls::HasRoom(const Usage& usage, size_t bytes) const {
  const size_t calls_left = kMaxCalls - (all_.calls - usage.calls);
  const size_t bytes_left = kMaxBytes - (all_.bytes - usage.bytes);
  return usage.calls < calls_left / 2 && usage.bytes + bytes <= bytes_left / 2;
}

void WaitingCalls::Retry(absl::Time now) {
  std::vector<Call> calls;
  {
    MutexLock lock(mutex_);
    const auto others = calls_.begin() + static_cast<int>(std::min(kTriedAtOnce, calls_.size()));
    const auto end = std::stable_partition(
        others, calls_.end(), [now](const Call& call) { return now >= call.deadline; });
    calls.assign(std::make_move_iterator(calls_.begin()), std::make_move_iterator(end));
    calls_.erase(calls_.begin(), end);
  }
  const auto answered = std::stable_partition(calls.begin(), calls.end(), [now](const Call& call) {
    return !call.attempt(now >= call.deadline);
  });
  {
    MutexLock lock(mutex_);
    for (auto call = answered; call != calls.end(); ++call) {
      const auto usage = per_peer_.find(call->peer);
      for (Usage* const counted : {&usage->second, &all_}) {
        --counted->calls;
        counted->bytes -= call->bytes;
      }
      if (usage->second.calls == 0) per_peer_.erase(usage);
    }
    calls.erase(answered, calls.end());
    if (!closed_) {
      calls_.insert(calls_.end(), std::make_move_iterator(calls.begin()),
                    std::make_move_iterator(calls.end()));
      return;
    }
  }
  for (const Call& call : calls) call.attempt(true);  // Close() was called in the meantime
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
