// One call of a client, as its handler sees it.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "wire/message_budget.h"

namespace gpuscaler {

class EventLoop;
class ServerStream;

struct CallHeaders {
  std::string path;              // "/package.Service/Method"
  std::string peer;              // an address without its port; "unix" for unix sockets
  bool has_certificate = false;  // the peer has shown one, which the server verified
  absl::Time deadline = absl::InfiniteFuture();  // a time of SteadyNow()
  // Empty after the call's start.
  std::multimap<std::string, std::string> metadata;
};

// Thread-safe, except for functions that must be called on the loop's thread. The handler and the
// call's stream share it. Writes after the call's end are dropped.
class ServerCall : public std::enable_shared_from_this<ServerCall> {
 public:
  // Receives what a client sends. All functions are called on the loop's thread, must not block,
  // and are never called after OnEnd().
  class Handler {
   public:
    virtual ~Handler() = default;
    virtual void OnMessage(std::string bytes) = 0;
    virtual void OnLastMessage() {}  // the client sends no more
    // HTTP/2 has taken all messages that were written. The socket may not have sent them yet.
    virtual void OnWritten() {}
    // Once, at the end of every call: all is sent, or the client has cancelled it or has gone, or
    // the deadline has passed.
    virtual void OnEnd() {}
  };

  ServerCall(CallHeaders headers, EventLoop& loop) : headers_(std::move(headers)), loop_(loop) {}

  const CallHeaders& headers() const { return headers_; }

  // Takes `bytes` from the budget of unfinished requests, until Release() or the call's end. A
  // handler must call it for messages that it keeps until the client has sent more. False: the
  // budget is spent, and the handler must end the call with RESOURCE_EXHAUSTED. Must be called on
  // the loop's thread.
  bool Reserve(size_t bytes);
  void Release(size_t bytes);

  // After Finish(), or after the call's end: writes are dropped.
  bool is_finished() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Fields of the answer's headers and of its trailers. The name of a field with bytes that are not
  // printable ASCII ends with "-bin", and its value is base64. Must be called before the first
  // write and before Finish().
  void AddHeader(std::string name, std::string value) ABSL_LOCKS_EXCLUDED(mutex_);
  void AddTrailer(std::string name, std::string value) ABSL_LOCKS_EXCLUDED(mutex_);

  // Sends the headers before there is a message: the client sees that the call is accepted.
  void SendHeaders() ABSL_LOCKS_EXCLUDED(mutex_);

  // Sends a message. If the one before still waits to be sent, this one takes its place: a client
  // that does not read costs two messages. If too many bytes wait for clients that do not read,
  // drops it and ends the call as FinishNow() does, with RESOURCE_EXHAUSTED; so does Write().
  void WriteNewest(absl::string_view bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  // Sends a message after those written before. No later one replaces it, so the caller must bound
  // their number.
  void Write(absl::string_view bytes) ABSL_LOCKS_EXCLUDED(mutex_);

  // Ends the call after what was written before. The first status counts.
  void Finish(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);

  // Ends the call without the messages that are not sent yet. A client that does not read gets a
  // reset instead of the status: nothing of the call waits for it.
  void FinishNow(const absl::Status& status);

 private:
  friend class ServerStream;
  struct Outgoing {
    std::string bytes;            // with its prefix
    bool is_replaceable = false;  // a later such message takes its place
  };

  void Queue(Outgoing message) ABSL_LOCKS_EXCLUDED(mutex_);
  void DropLast() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Wake() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The stream has ended.
  void Abandon() ABSL_LOCKS_EXCLUDED(mutex_);

  CallHeaders headers_;
  EventLoop& loop_;
  // The loop's thread's. Null: the stream has ended.
  ServerStream* stream_ = nullptr;
  mutable Mutex mutex_;
  std::multimap<std::string, std::string> initial_ ABSL_GUARDED_BY(mutex_);
  std::multimap<std::string, std::string> trailing_ ABSL_GUARDED_BY(mutex_);
  std::list<Outgoing> outgoing_ ABSL_GUARDED_BY(mutex_);
  // Bytes of `outgoing_` and of the message that the stream is sending. Empty: there is no stream.
  std::optional<CallBudget> unread_bytes_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Status> status_ ABSL_GUARDED_BY(mutex_);
  bool sends_headers_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_woken_ ABSL_GUARDED_BY(mutex_) = false;
};

// Must not block. Called on the loop's thread.
using StartCall =
    std::function<std::shared_ptr<ServerCall::Handler>(const std::shared_ptr<ServerCall>&)>;

// Methods by their path.
using Methods = std::map<std::string, StartCall, std::less<>>;

}  // namespace gpuscaler
