// One call to a server, as its caller sees it.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "wire/event_loop.h"
#include "wire/target.h"

namespace gpuscaler {

class ClientStream;

// Names are in lower case; values of names that end with "-bin" are base64.
using CallMetadata = std::multimap<std::string, std::string>;

struct CallOptions {
  absl::Duration timeout = absl::InfiniteDuration();  // connecting included
  size_t longest_message = 2 << 20;                   // that the server may send
  CallMetadata metadata = {};
};

struct CallEnd {
  absl::Status status;
  CallMetadata trailers = {};
  std::optional<ConnectFault> connect_fault = std::nullopt;  // no server has answered
};

// Thread-safe, except for functions that must be called on the loop's thread. The caller and the
// call's stream share it. Writes after the call's end are dropped.
class ClientCall : public std::enable_shared_from_this<ClientCall> {
 public:
  // Receives what a server sends. All functions are called on the loop's thread, and must not
  // block. Must outlive the call's end.
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void OnHeaders(const CallMetadata&) {}
    virtual void OnMessage(std::string bytes) = 0;
    // Once, last of all; it may delete the listener.
    virtual void OnEnd(const CallEnd& end) = 0;
  };

  // Channel::Start() makes them.
  ClientCall(EventLoop& loop, std::string server, std::string method, CallOptions options,
             Listener& listener);

  // Sends a message. If the one before still waits to be sent, this one takes its place: a server
  // that does not read costs two messages.
  void WriteNewest(std::string bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  // Sends a message after those written before. No later one replaces it, so the caller must bound
  // their number.
  void Write(std::string bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  // Must be the last of the writes.
  void WritesDone() ABSL_LOCKS_EXCLUDED(mutex_);

  // Ends the call with CANCELLED, unless it has ended.
  void Cancel();

  // OnMessage() is not called until ResumeReading(), and the server must stop sending after 256
  // KiB. If the connection is lost first, the messages that have come are dropped, and the call
  // ends with UNAVAILABLE. Must be called on the loop's thread.
  void PauseReading() { is_paused_ = true; }
  void ResumeReading();

 private:
  friend class Channel;
  friend class ClientSession;
  friend class ClientStream;
  struct Outgoing {
    std::string bytes;
    bool is_replaceable = false;  // a later such message takes its place
  };

  void Queue(Outgoing message) ABSL_LOCKS_EXCLUDED(mutex_);
  void Wake() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // The loop's thread alone calls them.
  void StartTimer();
  void OnDeadline();
  absl::Status DeadlineStatus() const;
  // Ends the call, and resets its stream at the server.
  void EndAndReset(const absl::Status& status);
  void End(const CallEnd& end);

  EventLoop& loop_;
  const std::string server_, method_;
  const CallOptions options_;
  const absl::Time deadline_;
  // The loop's thread's.
  Listener& listener_;
  ClientStream* stream_ = nullptr;  // null: before the connection, and after the end
  bool has_ended_ = false;
  bool is_paused_ = false;
  OwnedEvent timer_;

  Mutex mutex_;
  std::deque<Outgoing> outgoing_ ABSL_GUARDED_BY(mutex_);
  bool writes_are_done_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_woken_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace gpuscaler
