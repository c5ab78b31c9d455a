// Watches every agent that there is, and puts what they say into the store.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/periodic_thread.h"
#include "fleet/agent_stream.h"
#include "fleet/fleet_store.h"
#include "fleet/peer_addresses.h"
#include "wire/event_loop.h"

namespace gpuscaler {

struct FleetWatchOptions {
  PeersOption agents;
  AgentStreamOptions stream;
  absl::Duration ask_interval = absl::Seconds(10);  // of DNS
  PeerAddresses::Resolver resolver = ResolveAll;
};

// Has three threads: one asks DNS, one begins and ends streams, one reads them. Thread-safe.
class FleetWatch {
 public:
  // `clock` and `store` outlive it.
  FleetWatch(const FleetWatchOptions& options, const Clock& clock, FleetStore& store);
  ~FleetWatch();  // ends every stream

  // Costly readings are wanted of every agent for `lease`.
  void Want(const CostlyReadings& wanted, absl::Duration lease);

  // Names the threads that still hang after `patience` ("peers dns": in the resolver). The
  // destructor would wait for them.
  std::vector<std::string> Stop(absl::Duration timeout);

  // Of the agents that are watched now, by their addresses: since they are.
  std::map<std::string, AgentStream::Counts> CountsOfAgents() const;

 private:
  class Listener;

  void Tick();
  // Streams for the agents that the store wants watched, and for no others.
  void FollowStore(absl::Time now);
  // Ends streams whose agents are to tell their past again; the next tick begins new ones.
  void AskForPast();
  // Agents that began anew learn since when the owners of their pods have had pods.
  void SendFormerPods();

  const FleetWatchOptions options_;
  const Clock& clock_;
  FleetStore& store_;
  PeerAddresses addresses_;
  std::unique_ptr<Listener> listener_;
  EventLoop loop_;  // the streams'
  mutable Mutex mutex_;
  std::map<std::string, std::shared_ptr<AgentStream>> streams_ ABSL_GUARDED_BY(mutex_);
  // Of streams that were ended so that the agent tells its past again.
  std::map<std::string, AgentStream::Counts> ended_ ABSL_GUARDED_BY(mutex_);
  CostlyReadings wanted_ ABSL_GUARDED_BY(mutex_);
  absl::Time subscribed_until_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  // The thread's.
  absl::Time ticked_at_ = absl::InfinitePast();  // the store
  int64_t followed_ = -1;                        // of the store's list, the version
  bool asked_again_ = false;                     // streams have ended that are to begin anew
  std::unique_ptr<PeriodicThread> ticking_;
};

}  // namespace gpuscaler
