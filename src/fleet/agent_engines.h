// The engines of one agent's node, from consecutive WatchEngines calls while an aggregator has
// subscriptions.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "fleet/agent_call.h"
#include "fleet/agent_stream.h"
#include "fleet/engine_update_reader.h"
#include "fleet/reconnecting_call.h"
#include "signal/engine_subscription.h"
#include "signal/found_engines.h"
#include "telemetry.pb.h"
#include "wire/token_bucket.h"

namespace gpuscaler {

using WatchEnginesCall =
    AgentCall<telemetry::v1::EngineSubscription, telemetry::v1::EngineTelemetry>;

// Thread-safe.
class AgentEngines : public WatchEnginesCall::Receiver {
 public:
  // `address` and `node` are the agent's. Readings go to `found`. All references must outlive it.
  AgentEngines(const AgentStreamOptions& options, std::string address, const std::string& node,
               const Clock& clock, EventLoop& loop, FoundEngines& found);
  ~AgentEngines() override;  // no further call of `found`
  AgentEngines(const AgentEngines&) = delete;
  AgentEngines& operator=(const AgentEngines&) = delete;

  const std::string& node() const { return node_; }

  // Subscribes for 90 s: sent to the agent if it differs from the last one or is 30 s later, and
  // after a reconnect. After 20 at once, one is sent per second: the others are ignored, and the
  // caller must repeat the newest. Keeps the object. It must not be null.
  void Subscribe(std::shared_ptr<const EngineSubscription> wanted);

  // Connects if there is a subscription, or cancels an idle stream. Must be called by one thread,
  // about once a second.
  void Tick();

  // Ends the call for good, without a wait: the destructor waits.
  void Stop() { calls_.Stop(); }

  StreamCounts counts() const { return calls_.counts(); }
  bool is_open() const;  // a call is open and has brought a message

 private:
  std::unique_ptr<WatchEnginesCall> NextCall();  // null: no subscription
  telemetry::v1::EngineSubscription Subscription() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Take(telemetry::v1::EngineTelemetry& message) override;
  void Ended(const CallEnd& end, const absl::Status& fault) override;
  void Lost(const absl::Status& why);
  void Log(const absl::Status& why);

  const AgentStreamOptions options_;
  const std::string address_;
  const std::string node_;
  const Clock& clock_;
  EventLoop& loop_;
  FoundEngines& found_;
  EngineUpdateReader reader_;  // the call's; one at a time

  mutable Mutex mutex_;                         // locked after that of calls_
  std::string logged_ ABSL_GUARDED_BY(mutex_);  // the last logged loss
  // Null: there was none yet.
  std::shared_ptr<const EngineSubscription> subscription_ ABSL_GUARDED_BY(mutex_);
  absl::Time subscribed_at_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  // A restarted aggregator gets its triggers one after another, each with a namespace to add.
  TokenBucket sent_ ABSL_GUARDED_BY(mutex_) = TokenBucket(20, 1);
  ReconnectingCall<WatchEnginesCall> calls_;  // last: destroyed before what its calls use
};

}  // namespace gpuscaler
