// The readings of one agent, from consecutive Watch calls while the agent is listed.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/rate_limit.h"
#include "fleet/agent_call.h"
#include "fleet/agent_update.h"
#include "fleet/reconnecting_call.h"
#include "fleet/telemetry_reader.h"
#include "model/costly_readings.h"
#include "telemetry.pb.h"

namespace gpuscaler {

struct AgentStreamOptions {
  absl::Duration history;  // the longest to request
  // A stream without a message for this long is cancelled and begun again, because the network may
  // be down without a reset.
  absl::Duration idle_timeout = absl::Seconds(15);
  std::string reader;                // our name, for the agent's log
  std::set<std::string> namespaces;  // only what their pods need is sent; empty: everything
  AgentConnection connection;
};

using WatchCall = AgentCall<telemetry::v1::Subscription, telemetry::v1::Telemetry>;

// Thread-safe.
class AgentStream : public WatchCall::Receiver {
 public:
  // `address` is host:port. All references outlive it.
  AgentStream(const AgentStreamOptions& options, std::string address, const Clock& clock,
              EventLoop& loop, AgentListener& listener);
  ~AgentStream() override;  // no further call of the listener
  AgentStream(const AgentStream&) = delete;
  AgentStream& operator=(const AgentStream&) = delete;

  // Connects if `may_begin`, or cancels an idle stream. Must be called by one thread, several times
  // a second. Returns true if it has begun a call.
  bool Tick(bool may_begin = true);

  // Returns true while a call has not yet delivered the newest reading. Returns false if its first
  // message takes longer than 2 s.
  bool IsCatchingUp() const;

  // Ends the call for good, without a wait: the destructor waits.
  void Stop() { calls_.Stop(); }

  // Subscribes to costly readings for `lease`, now and after a reconnect. Ignored if it is the same
  // subscription and prolongs the lease by less than 10 s.
  void Subscribe(const CostlyReadings& wanted, absl::Duration lease);

  // Ends the call; the next one requests the whole history. Must be called by the thread of Tick(),
  // without a lock that the listener takes: blocks until the call has ended.
  void Replay();

  // Sends the owners of the pods that the node had before the agent began, if a call is under way.
  // Once a call: an agent that does not read could otherwise have us keep more and more.
  void SendFormerPods(const std::vector<Pod>& pods);

  StreamCounts counts() const { return calls_.counts(); }

 private:
  std::unique_ptr<WatchCall> NextCall();
  telemetry::v1::Subscription FirstSubscription() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Take(telemetry::v1::Telemetry& message) override;
  bool has_more() const override { return reader_.has_more(); }
  absl::Status Continue() override;
  void Ended(const CallEnd& end, const absl::Status& fault) override;
  void Deliver(AgentUpdate update);
  void LogImplausible(const AgentUpdate& update);

  const AgentStreamOptions options_;
  const std::string address_;
  const Clock& clock_;
  EventLoop& loop_;
  AgentListener& listener_;

  // The call's; one at a time.
  TelemetryReader reader_;
  RateLimit implausible_log_;

  mutable Mutex mutex_;                             // locked after that of calls_
  bool caught_up_ ABSL_GUARDED_BY(mutex_) = false;  // the call has brought the newest reading
  bool has_sent_former_pods_ ABSL_GUARDED_BY(mutex_) = false;  // on this call
  absl::Time newest_ ABSL_GUARDED_BY(mutex_) =
      absl::InfinitePast();  // when the newest reading was taken
  CostlyReadings subscription_ ABSL_GUARDED_BY(mutex_);
  absl::Time subscribed_until_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  ReconnectingCall<WatchCall> calls_;  // last: destroyed before what its calls use
};

}  // namespace gpuscaler
