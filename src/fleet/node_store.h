// One history for each node, by the words of the agent that speaks for it, and which of them a
// decision needs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/rate_limit.h"
#include "fleet/agent_update.h"
#include "fleet/pod_index.h"
#include "model/fleet_history.h"
#include "store/leases.h"

namespace gpuscaler {

// Not thread-safe. `generation` is what counts as the newest, if this changes anything.
class NodeStore {
 public:
  struct Options {
    NodeHistory::Limits limits;
    // Of how far decisions look back: older readings are not kept. It outlives the tracks. Null:
    // all within the limits are.
    const Leases* leases = nullptr;
    // How long two agents may claim a node before it is unreadable, and how long the last readings
    // of a lost agent keep its node from an agent with other GPUs.
    absl::Duration grace = absl::InfiniteDuration();
    // For so long a node is kept whose agent is another node's now.
    absl::Duration forget_after = absl::InfiniteDuration();
  };
  explicit NodeStore(const Options& options) : options_(options), index_(options.limits.horizon) {}

  void Received(const std::string& address, AgentUpdate update, absl::Time now, int64_t generation);
  void Lost(const std::string& address, const absl::Status& why, int64_t generation);
  // The agent is forgotten, and the node that it spoke for.
  void Forget(const std::string& address, int64_t generation);
  // Their agents, if there are any, are not to be found where they were.
  void ForgetNodesLeft(absl::Time now, int64_t generation);

  // Agents of nodes where decisions look back farther than what is kept, and those that speak for
  // one after another did: they are to tell all of their past again. A few at a time, and each once
  // for the same length.
  std::vector<std::string> LackingPast(absl::Time now) const;
  // A new stream of this agent begins with its past, which takes the place of what is kept once it
  // is complete and reaches farther back. The stream before has ended.
  void TellsAgain(const std::string& address, absl::Time now);

  // Returns the last known pods of each node with an agent that began since the last call, by the
  // agent's address.
  std::map<std::string, std::shared_ptr<const NodeLayout>> TakeFormerLayouts();

  // Looks for pods that several nodes report, every few seconds, and logs them.
  void FindSharedPods(absl::Time now);
  int64_t shared_pods() const { return static_cast<int64_t>(shared_pods_.size()); }

  // That node as it stands at the fleet's instant.
  void Add(const std::string& name, FleetHistory& fleet) const;
  // Whose pods hold its GPUs, as far as is known.
  void AddOther(const std::string& name, FleetHistory& fleet) const;
  std::vector<std::string> Names() const;
  bool empty() const { return nodes_.empty(); }
  const PodIndex& index() const { return index_; }
  // Nodes whose GPUs are in use, and who holds them has not been known since this began to hear of
  // them: replicas may be there that nobody here has seen.
  const std::set<std::string>& ownerless() const { return ownerless_; }
  std::string WhyOwnerless(const std::string& name) const;
  // Whether something was that concerns all, whoever's pods a decision is on.
  bool AllChangedSince(int64_t generation) const {
    return ownerless_generation_ > generation || index_.AllChangedSince(generation);
  }
  int64_t generation() const { return generation_; }  // of the last change of any

  absl::Time NewestAt() const;
  // When the node that the agent speaks for was read; InfinitePast: it speaks for none.
  absl::Time NewestOf(const std::string& address) const;
  // The address of the agent whose word counts for the node; empty: it is another node's now.
  std::string SpeakerOf(const std::string& node) const;
  // Nodes with agents that remember engines of these namespaces, and the agents' addresses.
  std::map<std::string, std::string> Remembering(const std::vector<std::string>& namespaces) const;
  // Another agent, or another address of the same, speaks for its node.
  bool IsSuperseded(const std::string& address) const;
  // Two live agents with different GPUs have claimed the node for longer than `grace`.
  bool IsDisputed(const std::string& node, absl::Time now) const;
  int64_t CountDisputed(absl::Time now) const;

 private:
  // An agent, as one that may speak for a node.
  struct AgentSession {
    std::string node;  // that it tells of; empty: not known yet
    uint64_t instance = 0;
    std::set<std::string> engine_namespaces;  // it remembers their engines
    bool is_connected = false;
    bool tells_again = false;
    // Its newest reading still stands, by its stream, and was not kept: a new stream is due.
    bool owes_all = false;
    // None of its GPUs, in its newest reading while another agent spoke, is one of the node's.
    bool has_other_gpus = false;
    std::shared_ptr<const NodeLayout> former;  // from an agent before; null: taken
    // What is logged of it, which it can cause as fast as it talks.
    PassesLately lines{10, absl::Minutes(1)};
  };
  struct Node {
    std::string speaker;    // the address of the agent whose word counts
    uint64_t instance = 0;  // of that agent's process, which made the newest reading
    absl::Time received_at = absl::InfinitePast();
    std::string silence;  // why its speaker is not heard; empty: it is
    // When its speaker was heard of another node: addresses are given again.
    absl::Time left_at = absl::InfiniteFuture();
    std::string rival;  // another live agent that claims it with other GPUs; empty: none
    absl::Time rival_since;
    std::shared_ptr<NodeHistory> history;   // readers' shares are of a const one
    std::shared_ptr<NodeHistory> replayed;  // so far; null: it is not told again
    absl::Duration replayed_for;            // how far back decisions looked when it was
  };

  // The newest reading of its node was made by this process and came from this address.
  bool IsOwn(const std::string& address, const AgentSession& session) const;
  // Whether another process than that speaks for its node from this update on, which is cut to what
  // is new. It needs a reading of its own: none of the former agent's is prolonged.
  bool TakesOver(const std::string& address, absl::Time now, int64_t generation,
                 AgentUpdate& update);
  // Logs that another process speaks for the node from now on.
  static void LogTakeover(const std::string& address, absl::Time at, const Node& node,
                          AgentSession& session);
  // If several agents claim a node, the first one speaks for it until it is lost or falls silent.
  // Then another that reports one of its GPUs follows at once: a GPU is in one
  // machine, and an upgrade has two agents on a node for as long as it lasts (maxSurge). An agent
  // with other GPUs is taken for another machine's, and follows after `grace`.
  bool MaySpeak(const std::string& address, const AgentSession& session, const Node& node,
                absl::Time now) const;
  // Nothing new is said, and the node was neither silent nor stale until now: all that was decided
  // still stands, for as long as it was to (Decision::valid_until).
  bool IsHeartbeat(const std::string& address, const AgentSession& session, const Node& node,
                   const AgentUpdate& update, absl::Time now) const;
  // An agent that may not speak for the node claims it.
  void Claim(const std::string& address, const AgentUpdate& update, absl::Time now,
             int64_t generation);
  // The agent claims its node no more, or not with other GPUs.
  void EndClaim(const std::string& address, int64_t generation);
  bool IsDisputed(const Node& node, absl::Time now) const {
    return !node.rival.empty() && now - node.rival_since > options_.grace;
  }
  void AddRival(const Node& node, FleetHistory& fleet) const;
  // Adds the update to the history, or to the one that the agent sends again.
  void Continue(AgentUpdate update, absl::Time now, AgentSession& session, Node& node) const;
  // The agent speaks for its node no more, but for another. The one that it left before is
  // forgotten: an agent that goes from name to name would else fill the memory with nodes.
  void Leave(const std::string& address, const AgentUpdate& update, int64_t generation);
  NodeHistory::Limits LimitsOf(const std::string& node, absl::Time now) const;
  void Changed(const std::string& name, int64_t generation);
  void Removed(const std::string& name, int64_t generation);
  void SetOwnerless(const std::string& name, bool is, int64_t generation);
  // Its word counts for the node that it tells of.
  bool Speaks(const std::string& address) const;

  const Options options_;
  std::map<std::string, AgentSession> sessions_;  // by address
  std::map<std::string, Node> nodes_;             // those with a history, by name
  PodIndex index_;
  std::set<std::string> ownerless_;
  int64_t ownerless_generation_ = 0;  // of its last change
  int64_t generation_ = 0;
  std::set<std::string> shared_pods_;  // UIDs, when they were looked for last
  absl::Time looked_for_shared_at_ = absl::InfinitePast();
  PassesLately shared_lines_{10, absl::Minutes(1)};
};

}  // namespace gpuscaler
