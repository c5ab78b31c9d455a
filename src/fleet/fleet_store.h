// The state of the fleet from all agents' messages, for the decisions: the agents (AgentRegistry)
// and their nodes (NodeStore).
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
#include "model/fleet_reader.h"

namespace gpuscaler {

// The state of one agent, for pages and reports.
struct AgentStatus {
  std::string address;
  std::string node;  // empty: not known yet
  std::string version;
  bool listed = false;
  bool connected = false;
  // Another agent, or another address of the same agent, is active for its node.
  bool superseded = false;
  absl::Time received_at = absl::InfinitePast();
  absl::Time read_at = absl::InfinitePast();  // when its newest reading was taken
  std::string why;                            // the loss or trouble; empty: none
};

// Thread-safe. Readers get an immutable history and hold no lock while they use it.
class FleetStore : public FleetReader {
 public:
  FleetStore(const Clock& clock, const FleetStoreOptions& options);  // clock outlives the store

  // Takes DNS's answer: the agents that exist, or the error.
  void Listed(const absl::StatusOr<std::vector<std::string>>& answer);

  // Take an agent's message, or its loss (AgentListener).
  void Received(const std::string& address, AgentUpdate update);
  void Lost(const std::string& address, const absl::Status& why);

  // Forgets agents and finds pods on several nodes. Must be called once a second. Does nothing
  // about readings that grow stale: FleetHistory::valid_until and Decision::valid_until cover them.
  void Tick();

  // See NodeStore::AgentsToReplay().
  std::vector<std::string> AgentsToReplay() const;
  // Must be called after the agent's stream has ended and before a new one begins with the agent's
  // history (NodeStore::BeginReplay).
  void BeginReplay(const std::string& address);

  // See NodeStore::TakeFormerLayouts().
  std::map<std::string, std::shared_ptr<const NodeLayout>> TakeFormerLayouts();

  // Returns the agents to connect to: the listed ones, and unlisted ones that are not forgotten
  // yet.
  std::vector<std::string> Watched() const;
  int64_t watched_version() const;  // counts up when Watched() may have changed

  // Returns the nodes where these pods hold GPUs or did within the horizon, and all nodes without
  // known pods. Returns UNAVAILABLE in these cases, because a decision without some of a busy
  // workload's replicas would scale it in:
  // - before the first answer of DNS;
  // - while an agent of that answer has not sent readings or, if its GPUs are in use, their
  //   holders. Once any node has readings, this lasts --empty-after at most;
  // - while no agent is listed, for --empty-after at most.
  absl::StatusOr<FleetPtr> NodesFor(const PodInterest& wanted) const override;
  absl::StatusOr<FleetPtr> AllNodes() const override;
  // Returns the active agents' addresses, by node: for the nodes of NodesFor() and for nodes with
  // capacity records of these namespaces. Costs no more than the index lookup. An empty address:
  // the agent has moved to another node, or two agents claim the node.
  absl::StatusOr<std::map<std::string, std::string>> ActiveAgents(const PodInterest& wanted) const;
  absl::Status Check() const override;
  absl::Time NewestAt() const override;
  Changes ChangedSince(int64_t generation) const override;
  bool IsOwnerKnown(const PodInterest& wanted) const override;
  int64_t WaitForGeneration(int64_t generation, absl::Duration timeout) const override;

  // Ends WaitForGeneration(), now and from now on.
  void Close();

  std::vector<AgentStatus> Agents() const;
  struct Faults {
    std::string lookup_error;    // the newest DNS lookup's; empty: it succeeded
    int64_t forgotten = 0;       // agents, so far
    int64_t disputed_nodes = 0;  // unreadable: claimed by two live agents
    // Unreadable: on several nodes, as of a Tick() within the last 5 s.
    int64_t shared_pods = 0;
  };
  Faults faults() const;

 private:
  // Returns the generation of the present event, if it changes anything.
  int64_t NextGeneration() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return generation_ + 1; }
  void Publish() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Forget(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckReady(absl::Time now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The history has no nodes.
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
