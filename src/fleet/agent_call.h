// A stream between an aggregator and one agent: subscriptions go to the agent, readings come back.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "wire/channel.h"
#include "wire/client_call.h"
#include "wire/event_loop.h"
#include "wire/parse_message.h"
#include "wire/refused_handshakes.h"
#include "wire/target.h"

namespace gpuscaler {

struct AgentConnection {
  decltype(Target::tls) tls = nullptr;  // null: no TLS
  std::string server_name = "";  // must be in the agent's certificate; empty: the address's host
  // Besides `server_name`, the certificate must have the name of the agent's node among its DNS
  // names, without a wildcard.
  bool binds_node_name = false;
};

// One call, on a connection of its own. Thread-safe.
template <typename Subscription, typename Message>
class AgentCall : private ClientCall::Listener {
 public:
  // Called on the loop's thread.
  class Receiver {
   public:
    virtual ~Receiver() = default;

    // An error ends the call.
    virtual absl::Status Take(Message& message) = 0;

    // Returns true if a part of the message is left for Continue(), which the loop calls in its
    // next turn, after other streams. The next message waits.
    virtual bool has_more() const { return false; }
    virtual absl::Status Continue() { return absl::OkStatus(); }

    // Called last, when the RPC has ended. `fault` is the error of Take() or Continue() that ended
    // it; OK: it ended otherwise.
    virtual void Ended(const CallEnd& end, const absl::Status& fault) = 0;
  };

  // `method` is "/package.Service/Method", `address` is host:port. `receiver` must outlive it.
  AgentCall(EventLoop& loop, const AgentConnection& connection, const std::string& address,
            std::string method, Receiver& receiver)
      : loop_(loop),
        receiver_(receiver),
        method_(std::move(method)),
        binds_node_name_(connection.binds_node_name),
        channel_(loop, {.address = address,
                        .tls = connection.tls,
                        .server_name = connection.server_name,
                        .on_certificate =
                            [self = self_](const std::vector<std::string>& names) {
                              if (*self != nullptr) (*self)->certificate_names_ = names;
                            },
                        .keepalive = kKeepalive,
                        .keepalive_timeout = kUnanswered}) {}

  // Must be called first, and once.
  void Begin(const Subscription& first) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    call_ = channel_.Start(method_, {.longest_message = kLongestMessage}, *this);
    call_->Write(first.SerializeAsString());
  }

  // If several subscriptions wait to be sent, only the newest is sent.
  void Send(const Subscription& subscription) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    call_->WriteNewest(subscription.SerializeAsString());
  }

  // Sends the message in any case, unlike Send().
  void SendAlways(const Subscription& message) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    call_->Write(message.SerializeAsString());
  }

  void Cancel() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    call_->Cancel();
  }

 private:
  // A message with an agent's past has up to 256 KiB of readings, and one more of any size.
  static constexpr size_t kLongestMessage = 4 << 20;
  // Its memory as a protobuf. Messages with an agent's past are too small to be searched.
  static constexpr size_t kLargestDecoded = size_t{48} << 20;
  // Without keepalive the kernel would keep a connection to a lost host for 15 minutes.
  static constexpr absl::Duration kKeepalive = absl::Seconds(10);
  static constexpr absl::Duration kUnanswered = absl::Seconds(5);

  void OnMessage(std::string bytes) override {
    if (!fault_.ok()) return;
    fault_ = Receive(bytes);
    if (!fault_.ok()) return Cancel();
    if (!receiver_.has_more()) return;
    Running()->PauseReading();
    ContinueSoon();
  }

  absl::Status Receive(const std::string& bytes) {
    Message message;
    if (!ParseMessage(bytes, kLargestDecoded, message)) {
      return absl::InvalidArgumentError("its message is not of the method, or too large in memory");
    }
    RETURN_IF_ERROR(CheckNodeName(message));
    return receiver_.Take(message);
  }

  absl::Status CheckNodeName(const Message& message) {
    if (!binds_node_name_) return absl::OkStatus();
    const std::string& node = message.node().name();
    const bool is_named = std::ranges::any_of(certificate_names_, [&node](const std::string& name) {
      return !node.empty() && absl::EqualsIgnoreCase(name, node);
    });
    has_named_node_ |= is_named;
    const bool is_bound = node.empty() ? has_named_node_ || message.readings_size() == 0 : is_named;
    if (is_bound) return absl::OkStatus();
    CountHandshakeFault(HandshakeFault::kWrongNode);
    const std::string has = certificate_names_.empty()
                                ? "none"
                                : absl::StrJoin(certificate_names_, ", ").substr(0, 200);
    return absl::PermissionDeniedError(
        absl::StrCat("its certificate must have the DNS name of its node, \"", node, "\", and has ",
                     has, " (--agent-identity=san)"));
  }

  void ContinueSoon() {
    loop_.Post([self = self_] {
      if (*self != nullptr) (*self)->ContinueNow();
    });
  }

  void ContinueNow() {
    fault_ = receiver_.Continue();
    if (!fault_.ok()) return Cancel();
    if (receiver_.has_more()) return ContinueSoon();
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
    receiver_.Ended(end, fault_);
  }

  EventLoop& loop_;
  Receiver& receiver_;
  const std::string method_;
  // Null after the call's end. For the loop's thread only.
  const std::shared_ptr<AgentCall*> self_ = std::make_shared<AgentCall*>(this);
  const bool binds_node_name_;
  // Used by the loop's thread only.
  std::vector<std::string> certificate_names_;  // the agent's DNS names
  bool has_named_node_ = false;
  Channel channel_;
  absl::Status fault_;  // used by the loop's thread only
  Mutex mutex_;         // an answer may come before Begin() returns
  std::shared_ptr<ClientCall> call_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace gpuscaler
