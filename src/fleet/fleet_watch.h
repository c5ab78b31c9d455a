// Connects to every agent and puts its messages into the store.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/periodic_thread.h"
#include "fleet/agent_stream.h"
#include "fleet/agent_update.h"
#include "fleet/fleet_store.h"
#include "fleet/peer_addresses.h"
#include "wire/event_loop.h"

namespace gpuscaler {

struct FleetWatchOptions {
  PeersOption agents;
  AgentStreamOptions stream;
  absl::Duration resolve_interval = absl::Seconds(10);  // between DNS lookups
  PeerAddresses::Resolver resolver = ResolveAll;
};

// Has two threads: one resolves names, one begins and ends streams. Thread-safe.
class FleetWatch : public AgentListener {
 public:
  // All references must outlive it. `loop` reads the streams.
  FleetWatch(const FleetWatchOptions& options, const Clock& clock, EventLoop& loop,
             FleetStore& store);
  ~FleetWatch() override;  // ends every stream

  // Subscribes to costly readings of every agent for `lease`.
  void Subscribe(const CostlyReadings& wanted, absl::Duration lease);

  // The threads must be stopped at shutdown: the destructor waits for them.
  std::vector<PeriodicThread*> Threads() { return {tick_thread_.get(), addresses_.thread()}; }

  // Counts begin when an agent is first watched. The key is the address.
  std::map<std::string, StreamCounts> CountsOfAgents() const;

 private:
  void Received(const std::string& address, AgentUpdate update) override;
  void Lost(const std::string& address, const absl::Status& why) override;
  void Tick();
  // Keeps streams to the agents of FleetStore::Watched(), and to no others.
  void SyncStreams(absl::Time now);
  // Ends the streams of agents that must resend their history. The next tick begins new ones.
  void RestartForReplay();
  // Sends restarted agents the time since which each owner of their pods has had pods on the node.
  void SendFormerPods();

  const FleetWatchOptions options_;
  const Clock& clock_;
  EventLoop& loop_;
  FleetStore& store_;
  PeerAddresses addresses_;
  mutable Mutex mutex_;
  std::map<std::string, std::shared_ptr<AgentStream>> streams_ ABSL_GUARDED_BY(mutex_);
  CostlyReadings subscription_ ABSL_GUARDED_BY(mutex_);
  absl::Time subscribed_until_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  // Used by tick_thread_ only.
  absl::Time ticked_at_ = absl::InfinitePast();  // the last FleetStore::Tick()
  int64_t synced_version_ = -1;                  // FleetStore::watched_version() of the streams
  std::unique_ptr<PeriodicThread> tick_thread_;
};

}  // namespace gpuscaler
