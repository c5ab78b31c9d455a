// A stream between an aggregator and one agent: subscriptions go to the agent, readings come back.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "wire/channel.h"
#include "wire/client_call.h"
#include "wire/event_loop.h"
#include "wire/refused_handshakes.h"
#include "wire/target.h"

namespace gpuscaler {

struct AgentConnection {
  decltype(Target::tls) tls = nullptr;  // null: no TLS
  std::string server_name = "";  // must be in the agent's certificate; empty: the address's host
};

// One call, on a connection of its own. Thread-safe. Ended() is called last of all.
template <typename Subscription, typename Reported>
class AgentCall : private ClientCall::Listener {
 public:
  // Must be called first, and once.
  void Begin(const Subscription& first) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    call_ = channel_.Start(method_, {.longest_message = kLongestMessage}, *this);
    call_->Write(first.SerializeAsString());
  }

  // If several wait to be sent, the newest alone is sent.
  void Want(const Subscription& wanted) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    call_->WriteNewest(wanted.SerializeAsString());
  }

  void Cancel() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    call_->Cancel();
  }

 protected:
  // `method` is "/package.Service/Method", `address` is host:port.
  AgentCall(EventLoop& loop, const AgentConnection& connection, const std::string& address,
            std::string method)
      : loop_(loop),
        method_(std::move(method)),
        channel_(loop, {.address = address,
                        .tls = connection.tls,
                        .server_name = connection.server_name,
                        .keepalive = kKeepalive,
                        .keepalive_timeout = kUnanswered}) {}

  // An error ends the call.
  virtual absl::Status Take(Reported& reported) = 0;

  // True: a part of the message is left for Continue(), which the loop calls in its next turn, when
  // other streams have had theirs. The next message waits.
  virtual bool has_more() const { return false; }
  virtual absl::Status Continue() { return absl::OkStatus(); }

  // `fault` is the error of Take(), if one ended the call.
  virtual void Ended(const CallEnd& end, const absl::Status& fault) = 0;

 private:
  // A history comes in messages of 256 KiB and one reading.
  static constexpr size_t kLongestMessage = 4 << 20;
  // The kernel would keep a connection with a cut cable for 15 minutes.
  static constexpr absl::Duration kKeepalive = absl::Seconds(10);
  static constexpr absl::Duration kUnanswered = absl::Seconds(5);

  void OnMessage(std::string bytes) override {
    if (!fault_.ok()) return;
    Reported reported;
    fault_ = reported.ParseFromString(bytes)
                 ? Take(reported)
                 : absl::InvalidArgumentError("its message is not of the method");
    if (!fault_.ok()) return Cancel();
    if (!has_more()) return;
    Running()->PauseReading();
    ContinueSoon();
  }

  void ContinueSoon() {
    loop_.Post([self = self_] {
      if (*self != nullptr) (*self)->ContinueNow();
    });
  }

  void ContinueNow() {
    fault_ = Continue();
    if (!fault_.ok()) return Cancel();
    if (has_more()) return ContinueSoon();
    Running()->ResumeReading();
  }

  std::shared_ptr<ClientCall> Running() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    return call_;
  }

  void OnEnd(const CallEnd& end) override {
    *self_ = nullptr;
    if (end.connect_fault && end.connect_fault->handshake) {
      CountHandshakeFault(*end.connect_fault->handshake);
    }
    Ended(end, fault_);
  }

  EventLoop& loop_;
  const std::string method_;
  // Null after the call's end. The loop's thread's.
  const std::shared_ptr<AgentCall*> self_ = std::make_shared<AgentCall*>(this);
  Channel channel_;
  absl::Status fault_;  // the loop's thread's
  Mutex mutex_;         // an answer may come before Begin() returns
  std::shared_ptr<ClientCall> call_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace gpuscaler
