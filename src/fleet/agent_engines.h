// The engines of one agent's node, as an aggregator reads of them: one WatchEngines after another,
// for as long as somebody wants some.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "fleet/agent_stream.h"
#include "fleet/call_succession.h"
#include "fleet/engine_update_reader.h"
#include "signal/engine_subscription.h"
#include "signal/found_engines.h"
#include "telemetry.pb.h"

namespace gpuscaler {

// Thread-safe.
class AgentEngines {
 public:
  // Where it is, and which node it is known to be of. What it says goes to `found`; all references
  // outlive it.
  AgentEngines(const AgentStreamOptions& options, std::string address, const std::string& node,
               const Clock& clock, EventLoop& loop, FoundEngines& found);
  ~AgentEngines();  // hands nothing on any more
  AgentEngines(const AgentEngines&) = delete;
  AgentEngines& operator=(const AgentEngines&) = delete;

  // What is wanted of it from now on, for `lease`; told to the agent at once, and after a
  // reconnect.
  void Want(const EngineSubscription& wanted, absl::Duration lease);

  // Does what is due: connects if something is wanted, or ends a stream that has fallen silent. By
  // one thread, about once a second.
  void Tick();

  // Ends the call, for good, and does not wait for that: the destructor does.
  void Stop();

  struct Counts {
    int64_t attempts = 0;
    int64_t messages = 0;
    int64_t readings = 0;
    int64_t bytes = 0;
    Counts& operator+=(const Counts& more) {
      attempts += more.attempts;
      messages += more.messages;
      readings += more.readings;
      bytes += more.bytes;
      return *this;
    }
  };
  Counts counts() const;
  bool is_open() const;  // it has told something, and not ended

 private:
  class Call;

  std::unique_ptr<Call> NextCall();  // null: nothing is wanted
  telemetry::v1::EngineSubscription Subscription() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The call calls them on the loop's thread.
  absl::Status Take(telemetry::v1::EngineTelemetry& message);
  void Ended(const absl::Status& why);
  void Lost(const absl::Status& why);
  void Log(const absl::Status& why);

  const AgentStreamOptions options_;
  const std::string address_;
  const std::string node_;
  const Clock& clock_;
  EventLoop& loop_;
  FoundEngines& found_;
  EngineUpdateReader reader_;  // the call's, of which there is one at a time

  mutable Mutex mutex_;                         // behind that of calls_
  std::string logged_ ABSL_GUARDED_BY(mutex_);  // why it was lost, when that was logged last
  EngineSubscription wanted_ ABSL_GUARDED_BY(mutex_);
  absl::Time subscribed_until_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  Counts counts_ ABSL_GUARDED_BY(mutex_);
  CallSuccession<Call> calls_;  // last: it ends before what its calls tell
};

}  // namespace gpuscaler
