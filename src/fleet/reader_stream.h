// An agent's end of a stream to one reader: each message is composed when it can be sent.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/rate_limit.h"
#include "fleet/gpu_wire.h"
#include "wire/parse_message.h"
#include "wire/server_call.h"
#include "wire/token_bucket.h"

namespace gpuscaler {

// Limits for the log of new readers: lines per minute, and characters of a reader's name.
inline constexpr int kReadersLogged = 10;
inline constexpr size_t kLongestReader = 253;

// Limits for the messages of one stream: a burst, and a rate per second. Aggregators stay below.
// They send a subscription at the start, every 30 s, and when it changes: for engines 20 at once
// and then 1 a second (AgentEngines), for costly readings one every 10 s (AgentStream), besides one
// with the former pods of a new agent.
inline constexpr int kMessagesAtOnce = 50;
inline constexpr int kMessagesPerSecond = 5;

// The memory of one message, with up to 4,096 namespaces or former pods.
inline constexpr size_t kLargestSubscription = size_t{8} << 20;

// Shared by all streams of one method.
struct ReaderContext {
  const Clock& clock;
  const absl::Duration heartbeat;  // without changes a reader gets a message this often
  std::atomic<int64_t> messages = 0;
  std::atomic<int64_t> heartbeats = 0;  // messages without a reading
  std::atomic<int64_t> readings = 0;
  std::atomic<int64_t> bytes = 0;  // size of the messages, without the overhead of gRPC and TCP
  RateLimit lines{clock, kReadersLogged, absl::Minutes(1)};
  RateLimit refusals{clock, 1, absl::Minutes(1)};  // lines on refused subscriptions
};

// At most one message is being sent. The next one is composed from the newest state when that is
// done, so a slow reader costs no memory. Thread-safe.
template <typename Incoming, typename Outgoing>
class ReaderStream : public ServerCall::Handler {
 public:
  // Called once, at the call's end.
  using Closed = std::function<void(const ServerCall::Handler*)>;

  // Sends what is new, or a heartbeat if it is due.
  void Refresh() {
    MutexLock lock(mutex_);
    WriteNext();
  }

  // Ends the call after the message that is being sent. The first status counts.
  void End(const absl::Status& status) { call_->Finish(status); }

  // Ends the call, and drops the message that is being sent if the reader does not read.
  void EndNow(const absl::Status& status) { call_->FinishNow(status); }

  const std::string& peer() const { return call_->headers().peer; }
  bool has_certificate() const { return call_->headers().has_certificate; }

  void OnMessage(std::string bytes) override {
    if (call_->is_finished()) return;
    if (!messages_.Take(context_.clock.Now())) return End(TooManyMessages());
    Incoming incoming;
    if (!ParseMessage(bytes, kLargestSubscription, incoming)) {
      return End(
          absl::InternalError("the message is not one of the method's, or too large in memory"));
    }
    MutexLock lock(mutex_);
    if (const absl::Status taken = Take(incoming); !taken.ok()) return End(taken);
    if (!std::exchange(is_subscribed_, true)) {
      if (const auto dropped = context_.lines.Pass()) LogReader(incoming, *dropped);
    }
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
  // `context` must outlive it.
  ReaderStream(ReaderContext& context, std::shared_ptr<ServerCall> call, Closed closed)
      : context_(context), call_(std::move(call)), closed_(std::move(closed)) {}

  // Takes a subscription. An error ends the stream.
  virtual absl::Status Take(const Incoming& incoming) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) = 0;

  // Logs the first subscription. `dropped`: lines since the last one.
  virtual void LogReader(const Incoming& first, int64_t dropped) const = 0;

  // Composes the next message. Returns false if there is nothing to send now: Complete() returned
  // false, or the message cannot be complete yet. Requires a reader that has subscribed.
  virtual bool Compose(Outgoing& message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) = 0;

  // Returns true if the message must be sent: it has news, or a heartbeat is due.
  bool Complete(bool has_new, Outgoing& message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const absl::Time now = context_.clock.Now();  // not before any reading in the message
    if (!has_new && now - sent_at_ < context_.heartbeat) return false;
    message.set_sent_us(ToWire(now));
    sent_at_ = now;
    return true;
  }

  // `why` must not contain text of the reader.
  void LogRefusal(const std::string& why) const {
    const auto dropped = context_.refusals.Pass();
    if (!dropped) return;
    LogWarn("subscription_refused", {{"peer", peer()}, {"why", why}, {"dropped", *dropped}});
  }

  bool is_subscribed() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return is_subscribed_; }
  bool has_sent() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return sent_at_ != absl::InfinitePast();
  }

  ReaderContext& context_;
  Mutex mutex_;

 private:
  absl::Status TooManyMessages() const {
    const std::string why =
        absl::StrCat("a stream may have ", kMessagesAtOnce, " messages at once, and then ",
                     kMessagesPerSecond, " a second");
    LogRefusal(why);
    return absl::ResourceExhaustedError(why);
  }

  void WriteNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Outgoing message;
    if (!is_subscribed_ || is_writing_ || call_->is_finished() || !Compose(message)) return;
    is_writing_ = true;
    const std::string bytes = message.SerializeAsString();
    ++context_.messages;
    if (message.readings_size() == 0) ++context_.heartbeats;
    context_.readings += message.readings_size();
    context_.bytes += static_cast<int64_t>(bytes.size());
    call_->Write(bytes);
  }

  const std::shared_ptr<ServerCall> call_;
  const Closed closed_;
  TokenBucket messages_{kMessagesAtOnce, kMessagesPerSecond};  // used by the loop's thread only
  bool is_subscribed_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_writing_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Time sent_at_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace gpuscaler
