// The connections of an aggregator to the agents.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/periodic_thread.h"
#include "fleet/engine_watch.h"
#include "fleet/fleet_store.h"
#include "fleet/fleet_watch.h"
#include "fleet/peer_addresses.h"
#include "model/allowed_namespaces.h"
#include "model/leases.h"
#include "role/agent_tls.h"
#include "role/config.h"
#include "signal/found_engines.h"
#include "signal/signal_store.h"
#include "wire/event_loop.h"

namespace gpuscaler {

// An aggregator answers for the ScaledObjects of these namespaces; empty: all.
std::set<std::string> ServedNamespaces(const Config& config);

// ScaledObjects of the served namespaces may see the pods of these namespaces; empty: all.
std::set<std::string> SeenNamespaces(const Config& config, const AllowedNamespaces& allowed);

// Adds the GPUs that agents report to a FleetStore, and their engines to a SignalStore.
// Thread-safe.
class AgentConnections {
 public:
  struct Options {
    const Config& config;  // must outlive the connections
    AllowedNamespaces allowed;
    PeersOption agents;
    // Called once a second, on a thread of its own, with FleetStore::Check(). `is_ready`: there was
    // a usable fleet, or it has been awaited long enough, and KEDA must get the error.
    std::function<void(const absl::Status& known, bool is_ready)> checked;
  };

  // Connects. All references must outlive it.
  AgentConnections(const Options& options, const Clock& clock, FleetStore& fleet, Leases& leases,
                   SignalStore& signals);

  // Sends agents what triggers need now: engines, or costly readings.
  void WakeEngines() { engine_watch_.Wake(); }
  void WakeRenewal() { renewing_.Wake(); }

  std::string Exposition(absl::Time now) const;

  // The threads must be stopped at shutdown.
  std::vector<PeriodicThread*> Threads();

 private:
  AgentStreamOptions StreamOptions();
  // With some agents connected, the others are awaited for --empty-after, which begins when DNS
  // lists them.
  absl::Duration ReadyWithin() const;
  void CheckFleet();
  void RenewSubscription();

  const Options options_;
  const Clock& clock_;
  const absl::Time started_at_;
  FleetStore& fleet_;
  Leases& leases_;
  bool is_ready_ = false;  // used by checking_ only
  AgentTls tls_;
  const AgentStreamOptions stream_;
  FoundEngines engines_;
  // Reads all streams of agents. A message of engines, 4 MiB at most, is decoded at once.
  EventLoop loop_;
  FleetWatch watch_;
  EngineWatch engine_watch_;
  PeriodicThread renewing_;
  PeriodicThread checking_;
};

}  // namespace gpuscaler
