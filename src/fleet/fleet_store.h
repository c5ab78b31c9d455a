// What all agents have told, put together: one history for each node, and which of them a decision
// needs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "fleet/agent_news.h"
#include "fleet/membership.h"
#include "fleet/pod_index.h"
#include "model/fleet_history.h"
#include "store/fleet_reader.h"
#include "store/leases.h"

namespace gpuscaler {

struct FleetStoreOptions {
  FleetPatience patience;
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
  absl::Time heard_at = absl::InfinitePast();
  absl::Time read_at = absl::InfinitePast();  // when its newest reading was taken
  std::string why;  // it is not connected, or does not read; empty: it does
};

// Thread-safe. Readers get an immutable history and hold no lock while they use it.
class FleetStore : public AgentListener, public FleetReader {
 public:
  FleetStore(const Clock& clock, const FleetStoreOptions& options);  // clock outlives the store

  // An answer of DNS: the agents that there are, or why that is not known.
  void Listed(const absl::StatusOr<std::vector<std::string>>& answer);

  void Heard(const std::string& address, AgentNews news) override;
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

  // The agents to be watched: those listed, and those missing that are not forgotten yet.
  std::vector<std::string> Watched() const;
  int64_t watched_version() const;  // counts up whenever that may have changed

  // The nodes where these pods hold GPUs, or did within the horizon, and those whose pods nobody
  // can name. UNAVAILABLE while too little is known to decide on: before the first
  // answer of DNS, then until each agent that it listed was heard, or for --empty-after was not,
  // and while no agent is listed, up to --empty-after too: half a fleet, or a made-up 0, would
  // scale a busy workload in.
  absl::StatusOr<Fleet> Of(const PodsWanted& wanted) const override;
  absl::StatusOr<Fleet> All() const override;
  absl::Status Check() const override;
  absl::Time NewestAt() const override;
  Changes ChangedSince(int64_t generation) const override;
  bool Knows(const PodsWanted& wanted) const override;
  int64_t WaitForGeneration(int64_t generation, absl::Duration timeout) const override;

  // Lets every waiter go, now and from now on.
  void Close();

  std::vector<AgentStatus> Agents() const;

  // What became of the questions after the agents.
  struct Listing {
    std::string error;      // why the newest was not answered; empty: it was
    int64_t forgotten = 0;  // agents, so far
  };
  Listing listing() const;

 private:
  struct Agent {
    bool ever_heard = false;  // all of the past that it had to tell, too
    bool connected = false;
    int64_t connection = 0;  // counts up over all agents
    absl::Time heard_at = absl::InfinitePast();
    std::string node;
    uint64_t instance = 0;
    std::string version;
    std::string trouble;
    std::string lost;  // why the last stream ended
    bool tells_again = false;
    // Another spoke for its node, and what it told was not kept: its stream tells what changed
    // since, which is nothing without that.
    bool passed_over = false;
    bool owes_all = false;  // it may speak now: a new stream is due
  };
  struct Node {
    std::string speaker;  // the address of the agent whose word counts
    absl::Time heard_at = absl::InfinitePast();
    std::string silence;  // why its speaker is not heard; empty: it is
    // When its speaker was heard of another node: addresses are given again.
    absl::Time left_at = absl::InfiniteFuture();
    std::shared_ptr<const NodeHistory> history;
    std::shared_ptr<const NodeHistory> retold;  // so far; null: it is not told again
    absl::Duration retold_for;                  // how far back decisions looked when it was
  };

  // A word of the agent itself, before what it says of its node.
  void Note(const std::string& address, Agent& agent, const AgentNews& news)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether its word counts for the node: of two agents the one that connected last.
  bool MaySpeak(const std::string& address, const Agent& agent, const AgentNews& news)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Nothing new is said, and the node was neither silent nor stale until now: all that was decided
  // still stands, for as long as it was to (Decision::valid_until).
  bool IsHeartbeat(const std::string& address, const Agent& agent, const Node& node,
                   const AgentNews& news) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What its agent says continues the history, or tells it again.
  void Continue(AgentNews news, Agent& agent, Node& node) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The agent speaks for `name` no more, but for another node.
  void Leave(const std::string& address, const std::string& name, const AgentNews& news)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Without a speaker that node is gone.
  void Remove(const std::string& address, const std::string& name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  NodeHistory::Limits LimitsOf(const std::string& node) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Forget(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ForgetNodesLeft(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NodeChanged(const std::string& name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void MembersChanged() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FirstHeard(const std::string& address) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Status CheckReady(absl::Time now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status UnheardStatus(const std::string& address) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Without its nodes.
  std::shared_ptr<FleetHistory> NewHistory(int64_t generation, absl::Time now) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AddTrack(const std::string& name, const Node& node, FleetHistory& fleet) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Clock& clock_;
  const FleetStoreOptions options_;
  mutable Mutex mutex_;
  mutable CondVar changed_;
  Membership membership_ ABSL_GUARDED_BY(mutex_);
  std::string dns_error_ ABSL_GUARDED_BY(mutex_);  // empty: the newest question was answered
  std::map<std::string, Agent> agents_ ABSL_GUARDED_BY(mutex_);  // by address
  std::map<std::string, Node> nodes_ ABSL_GUARDED_BY(mutex_);    // those with a history, by name
  PodIndex index_ ABSL_GUARDED_BY(mutex_);
  int64_t connections_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t forgotten_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t watched_version_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t generation_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t members_changed_ ABSL_GUARDED_BY(mutex_) = 0;       // the generation of that
  std::vector<std::string> unheard_ ABSL_GUARDED_BY(mutex_);  // of them, since then; by address
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace gpuscaler
