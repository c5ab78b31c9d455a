// One agent, as an aggregator watches it: one Watch after another, for as long as it is listed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/rate_limit.h"
#include "fleet/agent_call.h"
#include "fleet/agent_update.h"
#include "fleet/call_succession.h"
#include "fleet/telemetry_reader.h"
#include "model/costly_readings.h"
#include "telemetry.pb.h"

namespace gpuscaler {

struct AgentStreamOptions {
  absl::Duration history;  // how much of the past is wanted, at most
  // After so long without a word the stream is ended, and begun anew: its cable may be cut.
  absl::Duration silence = absl::Seconds(15);
  std::string reader;  // who we are, for the agent's log
  AgentConnection connection;
};

// Thread-safe.
class AgentStream {
 public:
  // `address` is host:port. All references outlive it.
  AgentStream(const AgentStreamOptions& options, std::string address, const Clock& clock,
              EventLoop& loop, AgentListener& listener);
  ~AgentStream();  // no further call of the listener
  AgentStream(const AgentStream&) = delete;
  AgentStream& operator=(const AgentStream&) = delete;

  // Does what is due: connects if it may, or ends a stream that has fallen silent. By one thread,
  // several times a second. True: it has begun a call.
  bool Tick(bool may_begin = true);

  // Its call has begun and is not done with the past.
  bool IsCatchingUp() const;

  // Ends the call, for good, and does not wait for that: the destructor does.
  void Stop();

  // Costly readings are wanted of this agent for `lease`, now and after a reconnect.
  void Want(const CostlyReadings& wanted, absl::Duration lease);

  // Sends the owners of the pods that its node had before the agent began, if a call is under way.
  void SendFormerPods(const std::vector<Pod>& pods);

  struct Counts {
    int64_t attempts = 0;  // connections begun
    int64_t messages = 0;
    int64_t bytes = 0;
    Counts& operator+=(const Counts& more) {
      attempts += more.attempts;
      messages += more.messages;
      bytes += more.bytes;
      return *this;
    }
  };
  Counts counts() const;

 private:
  class Call;

  std::unique_ptr<Call> NextCall();
  telemetry::v1::Subscription FirstSubscription() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The call calls them on the loop's thread.
  absl::Status Take(telemetry::v1::Telemetry& message);
  absl::Status Continue();
  void Tell(AgentUpdate update);
  void LogUnbelieved(const AgentUpdate& update);
  void Ended(const absl::Status& why);

  const AgentStreamOptions options_;
  const std::string address_;
  const Clock& clock_;
  EventLoop& loop_;
  AgentListener& listener_;

  // The call's, of which there is one at a time.
  TelemetryReader reader_;
  RateLimit unbelieved_;

  mutable Mutex mutex_;                             // behind that of calls_
  bool caught_up_ ABSL_GUARDED_BY(mutex_) = false;  // the call has brought the newest reading
  absl::Time newest_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();  // reading
  CostlyReadings wanted_ ABSL_GUARDED_BY(mutex_);
  absl::Time subscribed_until_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  Counts counts_ ABSL_GUARDED_BY(mutex_);
  CallSuccession<Call> calls_;  // last: it ends before what its calls tell
};

}  // namespace gpuscaler
