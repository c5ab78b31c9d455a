// Reads of the engines that agents find, while somebody wants some.
#pragma once

#include <cstdint>
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

// A stream for each node that has pods of the namespaces that are wanted, to the agent that speaks
// for it. Has two threads: one begins and ends streams, one reads them. Thread-safe.
class EngineWatch {
 public:
  // All references outlive it.
  EngineWatch(const AgentStreamOptions& options, const Clock& clock, const FleetStore& fleet,
              FoundEngines& found);
  ~EngineWatch();  // ends every stream

  // Somebody wants more: it is asked for at once.
  void Wake() { ticking_->Wake(); }

  // False: the thread hangs. The destructor would wait for it.
  bool Stop(absl::Duration timeout) { return ticking_->Stop(timeout); }

  struct Counts {
    int streams = 0;  // now, that have told something
    AgentEngines::Counts total;
  };
  Counts counts() const;

 private:
  struct Stream {
    std::string node;
    std::shared_ptr<AgentEngines> agent;
    EngineSubscription wanted;
    absl::Time reported_at = absl::InfinitePast();  // what is wanted
  };

  void Tick();
  // Streams to these agents and no others, each of which knows what is wanted.
  std::vector<std::shared_ptr<AgentEngines>> Follow(
      const std::map<std::string, std::string>& node_of, const EngineSubscription& wanted,
      absl::Time now);
  void Tell(const EngineSubscription& wanted, absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const AgentStreamOptions options_;
  const Clock& clock_;
  const FleetStore& fleet_;
  FoundEngines& found_;
  EventLoop loop_;  // the streams'
  mutable Mutex mutex_;
  std::map<std::string, Stream> streams_ ABSL_GUARDED_BY(mutex_);  // by address
  AgentEngines::Counts ended_ ABSL_GUARDED_BY(mutex_);             // of streams that are no more
  std::unique_ptr<PeriodicThread> ticking_;
};

}  // namespace gpuscaler
