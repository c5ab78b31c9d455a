// Reads the engines that agents find, while there are subscriptions.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/periodic_thread.h"
#include "fleet/agent_engines.h"
#include "fleet/fleet_store.h"
#include "signal/found_engines.h"
#include "wire/event_loop.h"

namespace gpuscaler {

// Keeps a stream to the active agent of each node with pods of the subscribed namespaces. Has a
// thread that begins and ends streams. Thread-safe.
class EngineWatch {
 public:
  // All references must outlive it. `loop` reads the streams.
  EngineWatch(const AgentStreamOptions& options, const Clock& clock, EventLoop& loop,
              const FleetStore& fleet, FoundEngines& found);
  ~EngineWatch();  // ends every stream

  // Sends new subscriptions at once.
  void Wake() { tick_thread_->Wake(); }

  // Must be stopped at shutdown: the destructor waits for it.
  PeriodicThread& thread() { return *tick_thread_; }

  StreamCounts counts() const;  // all streams so far
  int open_streams() const;     // that have brought a message

 private:
  using Streams = std::map<std::string, std::shared_ptr<AgentEngines>>;  // key: address

  void Tick();
  // Keeps streams to these agents and no others. Returns them.
  Streams SyncStreams(const std::map<std::string, std::string>& node_of);

  const AgentStreamOptions options_;
  const Clock& clock_;
  EventLoop& loop_;
  const FleetStore& fleet_;
  FoundEngines& found_;
  mutable Mutex mutex_;
  Streams streams_ ABSL_GUARDED_BY(mutex_);
  StreamCounts ended_ ABSL_GUARDED_BY(mutex_);  // closed streams
  // The newest one, of all streams: at 1,000 nodes copies of 50 namespaces would take 6 MiB. Used
  // by tick_thread_ only.
  std::shared_ptr<const EngineSubscription> subscription_;
  std::unique_ptr<PeriodicThread> tick_thread_;
};

}  // namespace gpuscaler
