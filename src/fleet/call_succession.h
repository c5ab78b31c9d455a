// One call to an agent after another: begun when it is time, given up when it has fallen silent,
// and begun anew the later the oftener it failed.
#pragma once

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
#include "base/mutex.h"
#include "fleet/reconnect_delay.h"

namespace gpuscaler {

// `Call` is an AgentCall, of which there is one at a time. Thread-safe.
template <typename Call>
class CallSuccession {
 public:
  // A call without a word for `silence` is given up: its cable may be cut. The clock outlives this.
  CallSuccession(const Clock& clock, absl::Duration silence) : clock_(clock), silence_(silence) {}
  ~CallSuccession() {  // no word of a call any more
    Stop();
    std::unique_ptr<Call> ended;  // destroyed without the lock
    MutexLock lock(mutex_);
    while (call_ != nullptr && !call_ended_) ended_.Wait(mutex_);
    ended = std::move(call_);
  }
  CallSuccession(const CallSuccession&) = delete;
  CallSuccession& operator=(const CallSuccession&) = delete;

  // Where none is under way and it is time, the next one is what `begin` has begun, null: none is
  // wanted; no lock that it takes may be held where this is called. One that has fallen silent is
  // given up. By one thread. True: a call has begun.
  bool Tick(absl::FunctionRef<std::unique_ptr<Call>()> begin) {
    const absl::Time now = clock_.Now();
    std::unique_ptr<Call> ended;  // destroyed without the lock
    MutexLock lock(mutex_);
    if (call_ended_) ended = std::move(call_);
    call_ended_ = false;
    if (call_ == nullptr) return Begin(now, begin);
    if (cut_.empty() && now - received_at_ > silence_) {
      cut_ = absl::StrCat("no word from it for ", DurationText(silence_));
      call_->Cancel();
    }
    return false;
  }

  // Ends the call, for good, and does not wait for that: the destructor does.
  void Stop() {
    MutexLock lock(mutex_);
    stopping_ = true;
    if (call_ != nullptr) call_->Cancel();
  }

  // Reported to the call that is under way. Without one it is for the next one's beginning to tell.
  template <typename Subscription>
  void Want(const Subscription& wanted) {
    MutexLock lock(mutex_);
    if (call_ != nullptr && !call_ended_) call_->Want(wanted);
  }

  // The next call begins no earlier than that.
  void Pause(absl::Duration pause) {
    MutexLock lock(mutex_);
    next_attempt_ = clock_.Now() + pause;
  }

  // By the call: it has brought something.
  void Received(absl::Time at) {
    MutexLock lock(mutex_);
    received_at_ = at;
    reported_ = true;
    failures_ = 0;
  }

  // By the call, as its last word. `lost` hears why it ended, unless that was by Stop().
  void Ended(absl::Status why, absl::FunctionRef<void(const absl::Status& why)> lost) {
    bool stopping = false;
    {
      MutexLock lock(mutex_);
      stopping = stopping_;
      reported_ = false;
      if (!cut_.empty()) why = absl::DeadlineExceededError(cut_);
      if (absl::IsInvalidArgument(why)) failures_ = kFailuresOfNonsense;
      next_attempt_ = clock_.Now() + ReconnectDelay(++failures_);
    }
    if (!stopping) lost(why);
    MutexLock lock(mutex_);
    call_ended_ = true;
    ended_.NotifyAll();
  }

  struct UnderWay {
    absl::Time began_at;
    bool reported = false;  // it has brought something
  };
  std::optional<UnderWay> under_way() const {
    MutexLock lock(mutex_);
    if (call_ == nullptr || call_ended_) return std::nullopt;
    return UnderWay{.began_at = began_at_, .reported = reported_};
  }

 private:
  // What it says is refused: so will be what the next one says.
  static constexpr int kFailuresOfNonsense = 10;

  bool Begin(absl::Time now, absl::FunctionRef<std::unique_ptr<Call>()> begin)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (stopping_ || now < next_attempt_) return false;
    began_at_ = received_at_ = now;
    reported_ = false;
    cut_.clear();
    call_ = begin();
    return call_ != nullptr;
  }

  const Clock& clock_;
  const absl::Duration silence_;
  mutable Mutex mutex_;
  CondVar ended_;
  std::unique_ptr<Call> call_ ABSL_GUARDED_BY(mutex_);  // null: between two
  bool call_ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::string cut_ ABSL_GUARDED_BY(mutex_);  // why we gave the call up
  absl::Time next_attempt_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  int failures_ ABSL_GUARDED_BY(mutex_) = 0;  // in a row
  absl::Time began_at_ ABSL_GUARDED_BY(mutex_);
  absl::Time received_at_ ABSL_GUARDED_BY(mutex_);  // or when the call began
  bool reported_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace gpuscaler
