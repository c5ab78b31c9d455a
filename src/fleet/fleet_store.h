// What all agents have told, put together for whoever decides: which agents there are
// (AgentRegistry), and what their nodes are like (NodeStore).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "fleet/agent_registry.h"
#include "fleet/agent_update.h"
#include "fleet/node_store.h"
#include "model/fleet_history.h"
#include "store/fleet_reader.h"
#include "store/leases.h"

namespace gpuscaler {

struct FleetStoreOptions {
  FleetTimeouts timeouts;
  NodeHistory::Limits limits;
  // Of how far decisions look back: older readings are not kept. It outlives the store. Null: all
  // within the limits are.
  const Leases* leases = nullptr;
};

// One agent as it stands, for pages and reports.
struct AgentStatus {
  std::string address;
  std::string node;  // empty: not known yet
  std::string version;
  bool listed = false;
  bool connected = false;
  // Another agent, or another address of the same, speaks for its node.
  bool superseded = false;
  absl::Time received_at = absl::InfinitePast();
  absl::Time read_at = absl::InfinitePast();  // when its newest reading was taken
  std::string why;  // it is not connected, or does not read; empty: it does
};

// Thread-safe. Readers get an immutable history and hold no lock while they use it.
class FleetStore : public AgentListener, public FleetReader {
 public:
  FleetStore(const Clock& clock, const FleetStoreOptions& options);  // clock outlives the store

  // An answer of DNS: the agents that there are, or why that is not known.
  void Listed(const absl::StatusOr<std::vector<std::string>>& answer);

  void Received(const std::string& address, AgentUpdate update) override;
  void Lost(const std::string& address, const absl::Status& why) override;

  // What time alone brings: agents are forgotten. Once a second. (That readings age is said by
  // FleetHistory::stands_until and Decision::valid_until.)
  void Tick();

  // Agents of nodes where decisions look back farther than what is kept, and those that speak for
  // one after another did: they are to tell all of their past again. A few at a time, and each once
  // for the same length.
  std::vector<std::string> LackingPast() const;
  // A new stream of this agent begins with its past, which takes the place of what is kept once it
  // is complete and reaches farther back. The stream before has ended.
  void TellsAgain(const std::string& address);

  // Returns the last known pods of each node with an agent that began since the last call, by the
  // agent's address.
  std::map<std::string, std::shared_ptr<const NodeLayout>> TakeFormerLayouts();

  // The agents to be watched: those listed, and those missing that are not forgotten yet.
  std::vector<std::string> Watched() const;
  int64_t watched_version() const;  // counts up whenever that may have changed

  // The nodes where these pods hold GPUs, or did within the horizon, and those whose pods nobody
  // can name. UNAVAILABLE while too little is known to decide on: before the first
  // answer of DNS, then until each agent that it listed was heard, and has once told who holds its
  // GPUs where they are in use, or for --empty-after was not and has not,
  // and while no agent is listed, up to --empty-after too: half a fleet, or a made-up 0, would
  // scale a busy workload in.
  absl::StatusOr<Fleet> Of(const PodInterest& wanted) const override;
  absl::StatusOr<Fleet> All() const override;
  // By the names of the nodes that Of() gives, and of those with agents that remember engines of
  // these namespaces, at no more cost than that of their names: the addresses of the agents that
  // speak for them; empty: an agent that did is another node's now, or two claim the node.
  absl::StatusOr<std::map<std::string, std::string>> SpeakersOf(const PodInterest& wanted) const;
  absl::Status Check() const override;
  absl::Time NewestAt() const override;
  Changes ChangedSince(int64_t generation) const override;
  bool Knows(const PodInterest& wanted) const override;
  int64_t WaitForGeneration(int64_t generation, absl::Duration timeout) const override;

  // Lets every waiter go, now and from now on.
  void Close();

  std::vector<AgentStatus> Agents() const;
  // Unreadable because agents contradict each other.
  struct Conflicts {
    int64_t nodes = 0;  // that two live agents claim
    int64_t pods = 0;   // that several nodes report, as of the last Tick() or some before
  };
  Conflicts conflicts() const;

  // What became of the questions after the agents.
  struct Listing {
    std::string error;      // why the newest was not answered; empty: it was
    int64_t forgotten = 0;  // agents, so far
  };
  Listing listing() const;

 private:
  // An event makes one generation of all that it changed, and none of nothing.
  int64_t Next() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return generation_ + 1; }
  void Settle() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Forget(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckReady(absl::Time now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Without its nodes.
  std::shared_ptr<FleetHistory> NewHistory(int64_t generation, absl::Time now) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Clock& clock_;
  mutable Mutex mutex_;
  mutable CondVar changed_;
  AgentRegistry registry_ ABSL_GUARDED_BY(mutex_);
  NodeStore node_store_ ABSL_GUARDED_BY(mutex_);
  int64_t generation_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace gpuscaler
