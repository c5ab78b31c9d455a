#include "wire/client_call.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/duration_text.h"
#include "wire/client_stream.h"

namespace gpuscaler {

ClientCall::ClientCall(EventLoop& loop, std::string server, std::string method, CallOptions options,
                       Listener& listener)
    : loop_(loop),
      server_(std::move(server)),
      method_(std::move(method)),
      options_(std::move(options)),
      deadline_(SteadyNow() + options_.timeout),
      listener_(listener) {}

void ClientCall::WriteNewest(std::string bytes) {
  Queue({std::move(bytes), /*is_replaceable=*/true});
}

void ClientCall::Write(std::string bytes) { Queue({std::move(bytes), /*is_replaceable=*/false}); }

void ClientCall::Queue(Outgoing message) {
  MutexLock lock(mutex_);
  if (writes_are_done_) return;
  const bool replaces =
      message.is_replaceable && !outgoing_.empty() && outgoing_.back().is_replaceable;
  if (replaces) outgoing_.pop_back();
  outgoing_.push_back(std::move(message));
  Wake();
}

void ClientCall::WritesDone() {
  MutexLock lock(mutex_);
  writes_are_done_ = true;
  Wake();
}

void ClientCall::Wake() {
  if (std::exchange(is_woken_, true)) return;
  loop_.Post([call = shared_from_this()] {
    {
      MutexLock woken(call->mutex_);
      call->is_woken_ = false;
    }
    if (call->stream_ != nullptr) call->stream_->Flush();
  });
}

void ClientCall::Cancel() {
  loop_.Post([call = shared_from_this()] {
    call->EndAndReset(absl::CancelledError("the caller has cancelled the call"));
  });
}

void ClientCall::ResumeReading() {
  loop_.Post([call = shared_from_this()] {
    call->is_paused_ = false;
    if (call->stream_ != nullptr) call->stream_->Resume();
  });
}

void ClientCall::StartTimer() {
  if (options_.timeout == absl::InfiniteDuration()) return;
  timer_ = NewEvent<&ClientCall::OnDeadline>(loop_, this);
  SetTimer(timer_, deadline_ - SteadyNow());
}

void ClientCall::OnDeadline() { EndAndReset(DeadlineStatus()); }

absl::Status ClientCall::DeadlineStatus() const {
  return absl::DeadlineExceededError(
      absl::StrCat(stream_ == nullptr ? "no connection to " : "no answer from ", server_,
                   " within ", DurationText(options_.timeout)));
}

void ClientCall::EndAndReset(const absl::Status& status) {
  if (has_ended_) return;
  const std::shared_ptr<ClientCall> keep = shared_from_this();
  ClientStream* const stream = stream_;
  End({.status = status});
  if (stream != nullptr) stream->Reset();
}

void ClientCall::End(const CallEnd& end) {
  if (std::exchange(has_ended_, true)) return;
  timer_ = nullptr;
  stream_ = nullptr;
  {
    MutexLock lock(mutex_);
    writes_are_done_ = true;
    outgoing_.clear();
  }
  listener_.OnEnd(end);
}

}  // namespace gpuscaler
