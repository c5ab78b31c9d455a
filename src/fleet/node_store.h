// The histories of the nodes, each from the readings of its active agent, and an index of the nodes
// that a decision needs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/container/node_hash_map.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/rate_limit.h"
#include "fleet/agent_update.h"
#include "fleet/fleet_timeouts.h"
#include "fleet/pod_index.h"
#include "model/fleet_history.h"
#include "model/leases.h"

namespace gpuscaler {

struct FleetStoreOptions {
  FleetTimeouts timeouts;
  NodeHistory::Limits limits;
  // How far decisions look back: older readings are dropped. Must outlive the store. Null:
  // everything within `limits` is kept.
  const Leases* leases = nullptr;
};

// Not thread-safe. A call that changes what decisions depend on sets generation() to its argument
// `generation`, which must count up.
class NodeStore {
 public:
  explicit NodeStore(const FleetStoreOptions& options)
      : options_(options), index_(options.limits.horizon) {}

  void Received(const std::string& address, AgentUpdate update, absl::Time now, int64_t generation);
  void Lost(const std::string& address, const absl::Status& why, int64_t generation);
  // Forgets the agent and its node.
  void Forget(const std::string& address, int64_t generation);
  // Forgets a node once its agent has reported another node for longer than `forget_after`.
  void ForgetNodesLeft(absl::Time now, int64_t generation);

  // Returns the addresses of agents that must resend their history, because decisions look back
  // farther than what is kept of the node, or because the agent's newest reading was dropped before
  // the agent became active. Returns at most 20 agents for the first reason, and each of them only
  // once for the same look-back.
  std::vector<std::string> AgentsToReplay(absl::Time now) const;
  // Must be called after the agent's stream has ended and before a new one begins with the agent's
  // history. The replay replaces the history once it is complete and reaches farther back.
  void BeginReplay(const std::string& address, absl::Time now);

  // Returns the last known pods of nodes from before their present agent process, by the address of
  // the agent. Each process is included in one call: the first one after it became active.
  std::map<std::string, std::shared_ptr<const NodeLayout>> TakeFormerLayouts();

  // Looks for pods that several nodes report, every few seconds, and logs them.
  void FindSharedPods(absl::Time now);
  int64_t shared_pods() const { return static_cast<int64_t>(shared_pods_.size()); }

  // Adds the node to `fleet`, as of `fleet.now`.
  void Add(const std::string& name, FleetHistory& fleet) const;
  // Adds the last known pods of the node to `fleet.others`, if there are any.
  void AddOther(const std::string& name, FleetHistory& fleet) const;
  std::vector<std::string> Names() const;  // sorted
  bool empty() const { return nodes_.empty(); }
  const PodIndex& index() const { return index_; }
  // Nodes with GPUs in use and no known pods since this store began: they may have replicas that no
  // agent has reported.
  const std::set<std::string>& never_attributed() const { return never_attributed_; }
  std::string WhyNeverAttributed(const std::string& name) const;
  // Returns true if any decision may have changed since `generation`.
  bool AllChangedSince(int64_t generation) const {
    return never_attributed_generation_ > generation || index_.AllChangedSince(generation);
  }
  int64_t generation() const { return generation_; }  // as of the last change

  absl::Time NewestAt() const;
  // Returns when the newest reading of the agent's node was taken. InfinitePast: the agent is not
  // active.
  absl::Time NewestOf(const std::string& address) const;
  // Returns the address of the node's active agent. Empty: the agent has moved to another node.
  std::string ActiveAgentOf(const std::string& node) const;
  // Returns the nodes with an active agent that has capacity records in these namespaces, and the
  // agents' addresses.
  std::map<std::string, std::string> AgentsWithRecordsIn(
      const std::vector<std::string>& namespaces) const;
  // Returns true if another agent, or another address of the same agent, is active for its node.
  bool IsSuperseded(const std::string& address) const;
  // Returns true if two live agents with different GPUs have claimed the node for longer than
  // `grace`.
  bool IsDisputed(const std::string& node, absl::Time now) const;
  int64_t CountDisputed(absl::Time now) const;

 private:
  // An agent that may become the active one of a node.
  struct AgentSession {
    std::string node;  // empty: not known yet
    uint64_t instance = 0;
    std::set<std::string> engine_namespaces;  // namespaces of its capacity records
    bool is_connected = false;
    bool is_replaying = false;
    // The agent became active by confirming a reading that was not kept. Only a new stream sends
    // the reading again.
    bool needs_replay = false;
    // Its newest reading while another agent was active had none of that agent's GPUs.
    bool is_other_machine = false;
    std::shared_ptr<const NodeLayout> former;  // before the agent began; null: taken
    // Limits the log lines that the agent can cause with its messages.
    FixedWindowLimit lines{10, absl::Minutes(1)};
  };
  struct Node {
    std::string active_agent;  // address; its readings count
    uint64_t instance = 0;     // the process of that agent that made the newest reading
    absl::Time received_at = absl::InfinitePast();
    std::string why_disconnected;  // empty: connected
    // When its active agent reported another node: addresses are reused.
    absl::Time left_at = absl::InfiniteFuture();
    std::string rival;  // another live agent that claims it with other GPUs; empty: none
    absl::Time rival_since;
    std::shared_ptr<NodeHistory> history;   // readers share it as const
    std::shared_ptr<NodeHistory> replayed;  // the replay so far; null: none is in progress
    absl::Duration replayed_for;            // the look-back when the last replay began
  };

  // Returns true if the newest reading of the session's node is from this address and this process.
  bool IsOwn(const std::string& address, const AgentSession& session) const;
  // Returns true if the process becomes the node's active agent with this update. Removes the
  // readings that the node's history already has; at least one must be left, because the former
  // agent's readings are not extended.
  bool TakesOver(const std::string& address, absl::Time now, int64_t generation,
                 AgentUpdate& update);
  // Logs the takeover of a node by another process.
  static void LogTakeover(const std::string& address, absl::Time at, const Node& node,
                          AgentSession& session);
  // If several agents claim a node, the first one stays active until it is lost or idle. Another
  // agent that reports one of the node's GPUs follows at once: a GPU is in one machine, and an
  // upgrade runs two agents on a node for a while (maxSurge). An agent with other GPUs is probably
  // on another machine, and follows after `grace`.
  bool MayReport(const std::string& address, const AgentSession& session, const Node& node,
                 absl::Time now) const;
  // Returns true if the update has no new reading and the node was neither lost nor stale: all
  // decisions stay valid until their Decision::valid_until.
  bool IsHeartbeat(const std::string& address, const AgentSession& session, const Node& node,
                   const AgentUpdate& update, absl::Time now) const;
  // An agent that must not become active claims the node.
  void Claim(const std::string& address, const AgentUpdate& update, absl::Time now,
             int64_t generation);
  // Ends a claim: the agent has left the node, or now has the node's GPUs.
  void EndClaim(const std::string& address, int64_t generation);
  bool IsDisputed(const Node& node, absl::Time now) const {
    return !node.rival.empty() && now - node.rival_since > options_.timeouts.grace;
  }
  void AddRival(const Node& node, FleetHistory& fleet) const;
  // Adds the update to the history, or to the replay in progress.
  void Continue(AgentUpdate update, absl::Time now, AgentSession& session, Node& node) const;
  // The agent moves from its node to another one. The node that it left before is forgotten: an
  // agent that changes its node with each message would otherwise fill the memory.
  void Leave(const std::string& address, const AgentUpdate& update, int64_t generation);
  NodeHistory::Limits LimitsOf(const std::string& node, absl::Time now) const;
  void Changed(const std::string& name, int64_t generation);
  void Removed(const std::string& name, int64_t generation);
  void SetNeverAttributed(const std::string& name, bool is_waiting, int64_t generation);
  bool IsActive(const std::string& address) const;

  const FleetStoreOptions options_;
  absl::node_hash_map<std::string, AgentSession> sessions_;  // key: address
  absl::node_hash_map<std::string, Node> nodes_;             // key: name; each has a history
  PodIndex index_;
  std::set<std::string> never_attributed_;
  int64_t never_attributed_generation_ = 0;  // as of the last change
  int64_t generation_ = 0;
  std::set<std::string> shared_pods_;  // UIDs, as of the last search
  absl::Time shared_pods_found_at_ = absl::InfinitePast();
  FixedWindowLimit shared_lines_{10, absl::Minutes(1)};
};

}  // namespace gpuscaler
