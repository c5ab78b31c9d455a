// Consecutive calls to an agent: starts each call when it is due, cancels an idle one, and delays
// the next one longer after each failure (exponential backoff).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/duration_text.h"
#include "base/jitter.h"
#include "base/mutex.h"

namespace gpuscaler {

// Counts of an agent's calls of one method.
struct StreamCounts {
  int64_t attempts = 0;  // connections begun
  int64_t messages = 0;
  int64_t readings = 0;
  int64_t bytes = 0;

  StreamCounts& operator+=(const StreamCounts& more) {
    attempts += more.attempts;
    messages += more.messages;
    readings += more.readings;
    bytes += more.bytes;
    return *this;
  }
};

// Returns the delay after `failures` in a row, 1 s to 10 s. `random` is 0 to 1. The longest delay
// has jitter too, so that agents do not reconnect at one instant.
inline absl::Duration ReconnectDelay(int failures, double random) {
  constexpr double kLongestSeconds = 10;
  constexpr double kMaxJitter = 0.5;
  const double seconds = std::exp2(std::clamp(failures, 1, 10) - 1);
  return absl::Seconds(std::min(seconds, kLongestSeconds / (1 + kMaxJitter)) *
                       (1 + kMaxJitter * random));
}

// `Call` is an AgentCall; there is one at a time. Thread-safe.
template <typename Call>
class ReconnectingCall {
 public:
  // Cancels a call without a message for `idle_timeout`, because the network may be down without a
  // reset. `clock` must outlive this.
  ReconnectingCall(const Clock& clock, absl::Duration idle_timeout)
      : clock_(clock), idle_timeout_(idle_timeout) {}
  ~ReconnectingCall() {  // no further callback of a call
    Stop();
    std::unique_ptr<Call> ended;  // destroyed without the lock
    MutexLock lock(mutex_);
    while (call_ != nullptr && !call_ended_) ended_.Wait(mutex_);
    ended = std::move(call_);
  }
  ReconnectingCall(const ReconnectingCall&) = delete;
  ReconnectingCall& operator=(const ReconnectingCall&) = delete;

  // If no call is under way and the delay is over, starts the call that `begin` returns, if any.
  // Cancels an idle call. Returns true if a call has begun. Must be called by one thread. The
  // caller must hold no lock that `begin` takes.
  bool Tick(absl::FunctionRef<std::unique_ptr<Call>()> begin) {
    const absl::Time now = clock_.Now();
    std::unique_ptr<Call> ended;  // destroyed without the lock
    MutexLock lock(mutex_);
    if (call_ended_) ended = std::move(call_);
    call_ended_ = false;
    if (call_ == nullptr) return Begin(now, begin);
    if (cancel_reason_.empty() && now - received_at_ > idle_timeout_) {
      cancel_reason_ = absl::StrCat("no message for ", DurationText(idle_timeout_));
      call_->Cancel();
    }
    return false;
  }

  // Ends the call for good, without a wait: the destructor waits.
  void Stop() {
    MutexLock lock(mutex_);
    stopping_ = true;
    if (call_ != nullptr) call_->Cancel();
  }

  // Ends the call under way, and blocks until it has ended. It is not reported as lost, and the
  // next one may begin at once. Must be called by the thread of Tick().
  void Restart() {
    MutexLock lock(mutex_);
    if (call_ == nullptr || call_ended_) return;
    is_restarting_ = true;
    call_->Cancel();
    while (!call_ended_) ended_.Wait(mutex_);
  }

  // Sends the subscription on the call under way, if there is one. The next call must send it in
  // its first message.
  template <typename Subscription>
  void Send(const Subscription& subscription) {
    MutexLock lock(mutex_);
    if (call_ != nullptr && !call_ended_) call_->Send(subscription);
  }

  // Sends the message on the call under way, if there is one, even if subscriptions follow.
  template <typename Message>
  void SendAlways(const Message& message) {
    MutexLock lock(mutex_);
    if (call_ != nullptr && !call_ended_) call_->SendAlways(message);
  }

  // Delays the next call by `pause`.
  void Pause(absl::Duration pause) {
    MutexLock lock(mutex_);
    next_attempt_ = clock_.Now() + pause;
  }

  // Must be called by the call with each message, before it is checked.
  template <typename Message>
  void Count(const Message& message) {
    MutexLock lock(mutex_);
    ++counts_.messages;
    counts_.readings += message.readings_size();
    counts_.bytes += static_cast<int64_t>(message.ByteSizeLong());
  }

  // Must be called by the call with each valid message.
  void Received(absl::Time at) {
    MutexLock lock(mutex_);
    received_at_ = at;
    has_received_ = true;
    failures_ = 0;
  }

  // Must be called by the call at its end. Passes the reason to `lost`, unless Stop() or Restart()
  // ended it.
  void Ended(absl::Status why, absl::FunctionRef<void(const absl::Status& why)> lost) {
    bool is_lost = false;
    {
      MutexLock lock(mutex_);
      is_lost = !stopping_ && !is_restarting_;
      has_received_ = false;
      if (!cancel_reason_.empty()) why = absl::DeadlineExceededError(cancel_reason_);
      if (absl::IsInvalidArgument(why)) failures_ = kFailuresOfInvalidMessage;
      next_attempt_ = clock_.Now();
      if (!is_restarting_) next_attempt_ += ReconnectDelay(++failures_, Jitter(0, 1));
    }
    if (is_lost) lost(why);
    MutexLock lock(mutex_);
    call_ended_ = true;
    ended_.NotifyAll();
  }

  StreamCounts counts() const {  // all calls so far
    MutexLock lock(mutex_);
    return counts_;
  }

  struct UnderWay {
    absl::Time began_at;
    bool has_received = false;  // it has brought a message
  };
  std::optional<UnderWay> under_way() const {
    MutexLock lock(mutex_);
    if (call_ == nullptr || call_ended_) return std::nullopt;
    return UnderWay{.began_at = began_at_, .has_received = has_received_};
  }

 private:
  // An invalid message delays the next call like many failures: the next message is probably
  // invalid too.
  static constexpr int kFailuresOfInvalidMessage = 10;

  bool Begin(absl::Time now, absl::FunctionRef<std::unique_ptr<Call>()> begin)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (stopping_ || now < next_attempt_) return false;
    began_at_ = received_at_ = now;
    has_received_ = false;
    cancel_reason_.clear();
    is_restarting_ = false;
    call_ = begin();
    if (call_ == nullptr) return false;
    ++counts_.attempts;
    return true;
  }

  const Clock& clock_;
  const absl::Duration idle_timeout_;
  mutable Mutex mutex_;
  CondVar ended_;
  std::unique_ptr<Call> call_ ABSL_GUARDED_BY(mutex_);  // null: none is under way
  bool call_ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_restarting_ ABSL_GUARDED_BY(mutex_) = false;
  std::string cancel_reason_ ABSL_GUARDED_BY(mutex_);  // empty: we have not cancelled it
  absl::Time next_attempt_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  int failures_ ABSL_GUARDED_BY(mutex_) = 0;  // in a row
  StreamCounts counts_ ABSL_GUARDED_BY(mutex_);
  absl::Time began_at_ ABSL_GUARDED_BY(mutex_);
  absl::Time received_at_ ABSL_GUARDED_BY(mutex_);  // or when the call began
  bool has_received_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace gpuscaler
