// An agent's end of a stream to one reader: each message is composed when it can be sent.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "wire/server_call.h"

namespace gpuscaler {

// Limits for the log of new readers: lines per minute, and characters of a reader's name.
inline constexpr int kReadersLogged = 10;
inline constexpr size_t kLongestReader = 253;

// At most one message is being sent. The next one is composed from the newest state when that is
// done, so a slow reader costs no memory. Thread-safe.
template <typename Incoming, typename Outgoing>
class OneWriteStream : public ServerCall::Handler {
 public:
  // Called once, at the call's end.
  using Closed = std::function<void(const OneWriteStream*)>;

  // Ends the call after the message that is being sent. The first status counts.
  void End(const absl::Status& status) { call_->Finish(status); }

  // Ends the call, and drops the message that is being sent if the reader does not read.
  void EndNow(const absl::Status& status) { call_->FinishNow(status); }

  const std::string& peer() const { return call_->headers().peer; }
  bool has_certificate() const { return call_->headers().has_certificate; }

  void OnMessage(std::string bytes) override {
    Incoming incoming;
    if (!incoming.ParseFromString(bytes)) {
      return End(absl::InternalError("the message is not one of the method's"));
    }
    MutexLock lock(mutex_);
    if (const absl::Status taken = Take(incoming); !taken.ok()) return End(taken);
    WriteNext();
  }

  void OnLastMessage() override { End(absl::OkStatus()); }

  void OnWritten() override {
    MutexLock lock(mutex_);
    is_writing_ = false;
    WriteNext();
  }

  void OnEnd() override {
    { MutexLock lock(mutex_); }  // another thread may be in WriteNext(): wait for it
    closed_(this);
  }

 protected:
  OneWriteStream(std::shared_ptr<ServerCall> call, Closed closed)
      : call_(std::move(call)), closed_(std::move(closed)) {}

  // Takes a subscription. An error ends the stream.
  virtual absl::Status Take(const Incoming& incoming) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) = 0;

  // Composes the next message. Returns false if there is nothing to send.
  virtual bool Compose(Outgoing& message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) = 0;

  void WriteNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Outgoing message;
    if (is_writing_ || call_->is_finished() || !Compose(message)) return;
    is_writing_ = true;
    call_->Write(message.SerializeAsString());
  }

  Mutex mutex_;

 private:
  const std::shared_ptr<ServerCall> call_;
  const Closed closed_;
  bool is_writing_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace gpuscaler
